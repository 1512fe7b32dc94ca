"""A chat template that writes what a policy was trained to read, so that any program asks it in the same way.

A policy that read raw prompts gets a template of raw prompts; a run's system prompt becomes the default of a
conversation that has none. Both are then part of the tokenizer's files.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from transformers import PreTrainedTokenizerBase

from grpo_agents.policy import Policy
from grpo_agents.prompting import Message

RAW = (
    "{% for message in messages %}{{ message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}{{ '\\n' }}{% endfor %}"
)
"""Contents line by line, answers with their end token; as `Prompting` renders them."""
STARTS = ("{{ bos_token }}", "{{ bos_token }} ")
"""Behind a special token some tokenizers leave out the space that they put before a text's first word."""
QUESTIONS = ("What is 12 + 3 * 4?", "Größe, naïve:\n  日本 {{ x }} {% y %}", "a")


def tokenizer_as_read(policy: Policy) -> tuple[PreTrainedTokenizerBase, bool]:
    """Return the policy's tokenizer with a template that renders as the policy reads, and whether it does.

    Where no template does (the tokenizer splits a text otherwise behind a special token), the tokenizer keeps its own.
    """
    for template in _candidates(policy):
        tokenizer = copy.copy(policy.tokenizer)
        tokenizer.chat_template = template
        if reads_alike(policy, tokenizer):
            return tokenizer, True
    return policy.tokenizer, False


def reads_alike(policy: Policy, tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether a tokenizer's template makes the tokens of sample questions that the policy reads."""
    if not tokenizer.chat_template:
        return False
    conversations: list[list[Message]] = [[{"role": "user", "content": text}] for text in QUESTIONS]
    return all(_rendered(tokenizer, messages) == policy.render(messages) for messages in conversations)


def _candidates(policy: Policy) -> Iterator[object]:
    prompting = policy.prompting
    own = policy.tokenizer.chat_template
    for text in [start + RAW for start in STARTS] if prompting.style == "raw" else [own]:
        yield text if prompting.system_prompt is None else _with_default(str(text), prompting.system_prompt)


def _with_default(template: str, system_prompt: str) -> str:
    """Return a template that puts a system prompt before conversations without one."""
    message = f"{{'role': 'system', 'content': {system_prompt!r}}}"
    return (
        "{% if not messages or messages[0]['role'] != 'system' %}"
        f"{{% set messages = [{message}] + messages %}}{{% endif %}}{template}"
    )


def _rendered(tokenizer: PreTrainedTokenizerBase, messages: list[Message]) -> list[int]:
    ids: Any = tokenizer.apply_chat_template(
        [dict(message) for message in messages], tokenize=True, add_generation_prompt=True, return_dict=False
    )
    return list(ids)
