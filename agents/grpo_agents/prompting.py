"""From messages to token ids, once per message: what was sampled is never turned into text and back.

    raw     [BOS] contents joined by newlines, newline | answer ... | newline, reply, newline | answer ...
    chat    the tokenizer's template, generation prompt | answer ... | the template's next part | answer ...

In a raw prompt a newline parts the question from the answer, so a policy trained on "question, newline, answer" reads
what it knows. A chat reply is what the template puts behind the answer, up to the next generation prompt. That equals
rendering the whole conversation anew only if the template leaves earlier turns alone. One that drops the reasoning of
earlier turns, or rewrites them otherwise, is said once in the log as a warning, and the tokens stay as they were
sampled: the policy is trained on what it read, not on what a template would have made of it.

Words of users and environments cannot write the template's marks: a special token in them ("<|im_end|>" in a data set,
or in what a program printed) is spelled out, so that nobody opens a turn in another's name. A system prompt may hold
marks; examples of turns can be given so.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal

from jinja2.exceptions import TemplateError
from transformers import PreTrainedTokenizerBase

from grpo_gym.errors import InvalidValueError, ModelError

Message = Mapping[str, str]  # {"role": ..., "content": ...}
PromptStyle = Literal["auto", "chat", "raw"]
_log = logging.getLogger(__name__)
_HIDDEN = "Q7words"  # stands for words that hold special tokens
_ANSWER = "Q7answer"  # stands for what a policy may have written
_REASONED = f"<think>\nQ7reason\n</think>\n{_ANSWER}"
_REWRITES = {
    "": "",
    "reasoning": "drops the reasoning of earlier turns; here it stays as it was sampled, and a program that renders "
    "the whole conversation anew at each turn will show the policy less than it was trained on",
    "turns": "rewrites earlier turns; here they stay as they were sampled",
}


class Prompting:
    """Renders the messages of an episode for one tokenizer.

    Args:
        tokenizer: The policy's tokenizer.
        eos_ids: Every id that ends an answer.
        prompt_style: "auto" takes the chat template if the tokenizer has one, else raw.
        system_prompt: Put before the first message: as a system message, or as the first line of a raw prompt.

    Attributes:
        style: "chat" or "raw".
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        eos_ids: frozenset[int],
        prompt_style: PromptStyle = "auto",
        system_prompt: str | None = None,
    ) -> None:
        if prompt_style not in ("auto", "chat", "raw"):
            raise InvalidValueError(f"prompt_style must be 'auto', 'chat' or 'raw', not {prompt_style!r}")
        if prompt_style == "chat" and not tokenizer.chat_template:
            raise ModelError("prompt_style 'chat' needs a tokenizer with a chat template: take 'raw' or 'auto'")
        self.tokenizer = tokenizer
        self.eos_ids = eos_ids
        self.system_prompt = system_prompt
        self.style: Literal["chat", "raw"] = "raw" if prompt_style == "raw" or not tokenizer.chat_template else "chat"
        self._told = False

    @property
    def template_hash(self) -> str | None:
        """First 12 hex digits of the chat template's sha256, or None for raw prompts; for a run's record."""
        if self.style == "raw":
            return None
        return hashlib.sha256(str(self.tokenizer.chat_template).encode()).hexdigest()[:12]

    def render(self, messages: Sequence[Message]) -> list[int]:
        """Return the token ids that the policy reads before its first answer.

        Raises:
            ModelError: The template refuses the messages, or the text becomes no tokens.
        """
        if self.system_prompt is not None:
            messages = [{"role": "system", "content": self.system_prompt}, *messages]
        if self.style == "chat":
            return self._encode(*self._without_marks(messages))
        ids = self._encode("".join(message["content"] + "\n" for message in messages))
        bos = self.tokenizer.bos_token_id
        return ids if bos is None or ids[0] == bos else [bos, *ids]

    def render_reply(self, text: str, *, ended: bool = True) -> list[int]:
        """Return the token ids to append behind a sampled answer: a later observation, and what asks for an answer.

        Args:
            text: What the environment says; a user message in a chat.
            ended: Whether the answer has its end token; one that was cut is closed by the template's.

        Raises:
            ModelError: The template leaves no trace of an earlier answer, so nothing can be put behind it.
        """
        if self.style == "raw":
            return self._encode("\n" + text + "\n")
        self._tell_rewriting()
        whole, hidden = self._without_marks([_user("."), _assistant(_ANSWER), _user(text)])
        _, _, behind = whole.partition(_ANSWER)
        if not behind:
            raise ModelError("the chat template drops earlier answers, so it cannot hold a second turn: use 'raw'")
        ids = self._encode(behind, hidden)
        return ids[1:] if ended and ids[0] in self.eos_ids else ids

    @cached_property
    def rewrites(self) -> Literal["", "reasoning", "turns"]:
        """What of earlier turns the template changes when a conversation grows: nothing, their reasoning, or more."""
        if self.style == "raw" or self._keeps(_REASONED):
            return ""
        return "reasoning" if self._keeps(_ANSWER) else "turns"

    def _keeps(self, answer: str) -> bool:
        """Whether a longer conversation begins with the shorter one and its answer."""
        messages = [_user(".")]
        for _ in range(2):
            start = self._template(messages) + answer
            messages += [_assistant(answer), _user(".")]
            if not self._template(messages).startswith(start):
                return False
        return True

    def _tell_rewriting(self) -> None:
        """Warn once of a template that does not leave earlier turns alone."""
        if not self._told and self.rewrites:
            _log.warning("the chat template %s", _REWRITES[self.rewrites])
        self._told = True

    def _template(self, messages: Sequence[Message]) -> str:
        """Return the conversation as text, with the prompt for the next answer."""
        try:
            text = self.tokenizer.apply_chat_template(
                [dict(message) for message in messages], tokenize=False, add_generation_prompt=True
            )
        except TemplateError as error:
            roles = ", ".join(message["role"] for message in messages)
            raise ModelError(f"the chat template refuses messages of {roles}: {error}") from error
        return str(text)

    def _without_marks(self, messages: Sequence[Message]) -> tuple[str, list[str]]:
        """Return the conversation with placeholders for the words that hold special tokens, and these words."""
        hidden: list[str] = []
        shown: list[Message] = []
        for message in messages:
            words = message["content"]
            if message["role"] == "user" and any(mark in words for mark in self._marks):
                shown.append(_user(f"{_HIDDEN}{len(hidden)}."))
                hidden.append(words)
            else:
                shown.append(message)
        return self._template(shown), hidden

    @cached_property
    def _marks(self) -> list[str]:
        """The special tokens as texts."""
        added = self.tokenizer.added_tokens_decoder.values()
        return sorted({str(token) for token in added if token.special} | set(self.tokenizer.all_special_tokens))

    def _encode(self, text: str, hidden: Sequence[str] = ()) -> list[int]:
        """Return the ids of a text; words that stand for a placeholder in it are encoded without special tokens."""
        if not hidden:
            return self._ids(text)
        ids: list[int] = []
        for place, part in enumerate(re.split(rf"{_HIDDEN}(\d+)\.", text)):  # text, number, text, number ... text
            if place % 2:
                ids += self._ids(hidden[int(part)], split_special_tokens=True)
            elif part:
                ids += self._ids(part)
        return ids

    def _ids(self, text: str, **how: bool) -> list[int]:
        try:
            ids: list[int] = self.tokenizer(text, add_special_tokens=False, **how)["input_ids"]
        except Exception as error:  # the Rust library raises bare Exception
            raise ModelError(f"the tokenizer cannot encode {text[:60]!r}: {error}") from error
        if not ids:
            raise ModelError(f"the tokenizer makes no tokens of {text[:60]!r}: it does not know this text")
        return ids


def _user(content: str) -> Message:
    return {"role": "user", "content": content}


def _assistant(content: str) -> Message:
    return {"role": "assistant", "content": content}
