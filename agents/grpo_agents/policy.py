"""The policy: a causal language model with its tokenizer. It reads messages, draws answers and tells their log-probs.

    policy = Policy.load("folder-or-hub-id")
    prompt = policy.render([{"role": "user", "content": "What is 3 + 4?"}])
    for completion in policy.sample([prompt], group_size=8, max_tokens=32):
        print(policy.decode(completion.ids))

Nothing here is specific to one architecture or to one training method. The parts stand alone: `loading`, `prompting`,
`sampler`, `logprobs`; this class only fits them together.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from grpo_agents import quantised
from grpo_agents.atomic import new_folder
from grpo_agents.loading import check_vocabulary, end_ids, load, no_progress_bars, padding_id
from grpo_agents.logprobs import LogProbs
from grpo_agents.prompting import Message, Prompting, PromptStyle
from grpo_agents.rollout import Completion
from grpo_agents.sampler import ROWS_PER_BATCH, Sampler
from grpo_agents.traits import ModelTraits, text_config


class Policy:
    """A language model that acts in text environments.

    Args:
        model: Any Hugging Face causal language model; it is put into evaluation mode (dropout off, gradients flow).
        tokenizer: Its tokenizer.
        prompt_style: "auto" takes the chat template if the tokenizer has one, else "raw".
        system_prompt: Put before the first message.

    Attributes:
        model: The language model.
        tokenizer: Its tokenizer.
        eos_ids: Every id that ends an answer.
        pad_id: The id that fills padding.
        context: Most tokens the model can hold, or None where it has no such limit.
        prompting: How messages become tokens: style, template hash, system prompt.
        sampler: Draws completions.
        logprobs: `logprobs(groups, temperature)` is the log-prob of each own token, with gradient.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        prompt_style: PromptStyle = "auto",
        system_prompt: str | None = None,
    ) -> None:
        check_vocabulary(model, tokenizer)
        model.train(False)
        self.model = model
        self.tokenizer = tokenizer
        self.eos_ids = end_ids(model, tokenizer)
        self.pad_id = padding_id(model, tokenizer, self.eos_ids)
        self.context: int | None = getattr(text_config(model), "max_position_embeddings", None)
        self.prompting = Prompting(tokenizer, self.eos_ids, prompt_style, system_prompt)
        traits = ModelTraits(model)
        self.sampler = Sampler(model, self.eos_ids, self.pad_id, context=self.context, traits=traits)
        self.logprobs = LogProbs(model, self.pad_id, traits=traits)

    @classmethod
    def load(
        cls,
        name: str | Path,
        *,
        device: str = "auto",
        dtype: torch.dtype | None = None,
        trust_remote_code: bool = False,
        prompt_style: PromptStyle = "auto",
        system_prompt: str | None = None,
    ) -> Self:
        """Return the policy in a folder, or of a hub id (see `loading.load` for the arguments and errors)."""
        model, tokenizer = load(name, device=device, dtype=dtype, trust_remote_code=trust_remote_code)
        return cls(model, tokenizer, prompt_style=prompt_style, system_prompt=system_prompt)

    def merged(self) -> Self:
        """Return a policy without an adapter: this one, for it has none."""
        return self

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        device: torch.device = self.model.device
        return device

    def room(self, length: int) -> int:
        """Return how many tokens may follow `length` tokens; at most 0 when the context is full."""
        return sys.maxsize if self.context is None else self.context - length

    def render(self, messages: Sequence[Message]) -> list[int]:
        """Return the token ids that the policy reads before its first answer (see `prompting`)."""
        return self.prompting.render(messages)

    def render_reply(self, text: str, *, ended: bool = True) -> list[int]:
        """Return the token ids of a later observation, to append behind a sampled answer (see `prompting`)."""
        return self.prompting.render_reply(text, ended=ended)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of sampled tokens, without the end token and special tokens."""
        kept = [token for token in ids if token not in self.eos_ids]
        return str(self.tokenizer.decode(kept, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def sample(
        self,
        prompts: Sequence[Sequence[int]],
        group_size: int = 1,
        *,
        max_tokens: int,
        temperature: float = 1.0,
        greedy: bool = False,
        generator: torch.Generator | None = None,
        rows_per_batch: int = ROWS_PER_BATCH,
    ) -> list[Completion]:
        """Draw `group_size` completions of each prompt, group by group (see `sampler.Sampler.__call__`)."""
        return self.sampler(
            prompts,
            group_size,
            max_tokens=max_tokens,
            temperature=temperature,
            greedy=greedy,
            generator=generator,
            rows_per_batch=rows_per_batch,
        )

    def save(self, folder: str | Path) -> None:
        """Write weights (safetensors), config and tokenizer; the folder appears whole or not at all."""
        with new_folder(folder) as fresh:
            self.write(fresh)

    def write(self, folder: Path) -> None:
        """Write the same files into a folder that is there, for a checkpoint that holds more than the policy."""
        with no_progress_bars():
            if quantised.is_quantised(self.model):
                quantised.write(self.model, folder)
            else:
                self.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)
