"""The policy: a causal language model with its tokenizer. It reads messages, draws answers and tells their log-probs.

    policy = Policy.load("folder-or-hub-id")
    prompt = policy.render([{"role": "user", "content": "What is 3 + 4?"}])
    for completion in policy.sample([prompt], group_size=8, max_tokens=32):
        print(policy.decode(completion.ids))

Where all weights are too many to train, an adapter of low rank learns beside them (`lora`):

    policy = Policy.load("folder-or-hub-id").adapted(Lora(rank=16))
    GRPO(policy, config=config).learn()
    policy.save("adapter")              # a few MB; Policy.load("adapter") finds its base by the name in it
    policy.merged().save("model")       # an ordinary model folder, for every other program

Nothing here is specific to one architecture or to one training method. The parts stand alone: `loading`, `prompting`,
`sampler`, `logprobs`; this class only fits them together.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from grpo_agents import quantised
from grpo_agents.adapter_files import write_adapter
from grpo_agents.atomic import new_folder
from grpo_agents.config import EMBEDDED, Lora
from grpo_agents.embedded import FOLDER
from grpo_agents.loading import check_vocabulary, end_ids, load, no_progress_bars, padding_id
from grpo_agents.logprobs import LogProbs
from grpo_agents.lora import adapted, has_adapter, merged
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
        model: The language model; with an adapter, peft's model around it.
        name: What it was loaded by, under which a saved adapter finds it again; "" for one that was not loaded.
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
        self.name = ""
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
        """Return the policy in a folder, or of a hub id (see `loading.load` for the arguments and errors).

        An adapter's folder gives the adapted policy, which goes on learning where it stopped.
        """
        model, tokenizer = load(name, device=device, dtype=dtype, trust_remote_code=trust_remote_code)
        policy = cls(model, tokenizer, prompt_style=prompt_style, system_prompt=system_prompt)
        policy.name = EMBEDDED if Path(name) == FOLDER else str(name)
        return policy

    def adapted(self, options: Lora, seed: int = 0) -> Self:
        """Return a policy whose model is this one's with a fresh adapter on it (see `lora.adapted` for the errors).

        It begins exactly as this policy. The model is not copied, so what the new policy learns shows here too.
        """
        return self._with(adapted(self.model, options, seed, self.name))

    def merged(self) -> Self:
        """Return a policy with the adapter folded into a copy of the weights, or this one where there is no adapter.

        Its folder is what other programs read. In bfloat16 folding rounds what the adapter learned (see `lora.merged`).
        """
        return self._with(merged(self.model)) if has_adapter(self.model) else self

    def _with(self, model: PreTrainedModel) -> Self:
        style, system_prompt = self.prompting.style, self.prompting.system_prompt
        return type(self)(model, self.tokenizer, prompt_style=style, system_prompt=system_prompt)

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

    def decode(self, ids: Sequence[int], special_tokens: Literal["strip", "keep"] = "strip") -> str:
        """Return the text of sampled tokens: without the end token, and with or without other special tokens."""
        kept = [token for token in ids if token not in self.eos_ids]
        skip = special_tokens == "strip"
        return str(self.tokenizer.decode(kept, skip_special_tokens=skip, clean_up_tokenization_spaces=False))

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
        """Write weights (safetensors), config and tokenizer; the folder appears whole or not at all.

        Of a policy with an adapter only the adapter is written, not the model that it belongs to: `Policy.load` needs
        both. `policy.merged().save(folder)` writes one model that stands alone.
        """
        with new_folder(folder) as fresh:
            self.write(fresh)

    def write(self, folder: Path) -> None:
        """Write the same files into a folder that is there, for a checkpoint that holds more than the policy."""
        with no_progress_bars():
            if hasattr(self.model, "disable_adapter"):  # a peft model
                write_adapter(self.model, folder)
            elif quantised.is_quantised(self.model):
                quantised.write(self.model, folder)
            else:
                self.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)
