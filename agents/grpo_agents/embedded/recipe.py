"""How the shipped policy is made: `python -m grpo_agents.embedded.recipe --out FOLDER` (about 40 minutes on one core).

Two phases, because policy gradients choose well among ways a policy already has and teach arithmetic badly:

    1. careful   worked solutions only, until it works problems right
    2. mixture   three in ten careful, seven in ten answering at once with a near miss

The result knows how to work step by step and mostly does not bother. GRPO then finds out that working pays. That is a
choice of strategy, not new arithmetic, and the card beside the weights says so.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedTokenizerFast

from grpo_agents.config import Sampling, SFTConfig
from grpo_agents.demonstrations import demonstrations
from grpo_agents.embedded import FOLDER
from grpo_agents.embedded.card import write_card
from grpo_agents.embedded.tokenizer import train_tokenizer
from grpo_agents.environments import EnvChoice, distinct_seeds
from grpo_agents.evaluate import evaluate
from grpo_agents.policy import Policy
from grpo_agents.sft import sft
from grpo_gym.errors import GrpoGymError

logger = logging.getLogger(__name__)

ENV = "grpo/Arithmetic-v0"
TRAINED_TIERS = (0, 2)
MADE_FOR = (0, 1)
HARDER = (2, 2)
ENOUGH = 0.96
"""Careful working must be right this often on held-out problems of MADE_FOR before the mixture is taught."""


@dataclass(frozen=True)
class Recipe:
    """Sizes and lengths; the defaults made the shipped files."""

    hidden: int = 128
    layers: int = 3
    heads: int = 4
    vocabulary: int = 512
    context: int = 512
    careful_steps: int = 6000
    mixture_steps: int = 300
    careful_share: float = 0.3
    seed: int = 0
    threads: int = 1


def make(recipe: Recipe, out: Path) -> dict[str, Any]:
    """Make the policy, write it with its card into `out`, and return the card's figures.

    Raises:
        GrpoGymError: Careful working is not right often enough after phase 1.
    """
    began = time.process_time()
    torch.set_num_threads(recipe.threads)
    policy = untrained(recipe)
    _teach(policy, careful_phase(recipe), "careful")
    policy.save(out.with_name(out.name + "-careful"))
    careful = _scores(policy, "careful")
    if (right := careful["tiers 0-1 sampled"]["pass@1"]) < ENOUGH:
        raise GrpoGymError(f"careful working is right {right:.3f} of the time, less than {ENOUGH}: teach it longer")
    _teach(policy, mixture_phase(recipe), "mixture")
    mixture = _scores(policy, "mixture")
    policy.save(out)
    figures = {
        "recipe": vars(recipe),
        "parameters": sum(p.numel() for p in policy.model.parameters()),
        "cpu_minutes": round((time.process_time() - began) / 60, 1),
        "torch": str(torch.__version__),
        "sha256": hashlib.sha256((out / "model.safetensors").read_bytes()).hexdigest(),
        "after_careful": careful,
        "after_mixture": mixture,
    }
    write_card(out.parent / "MODEL_CARD.md", figures)
    return figures


def untrained(recipe: Recipe, texts_of: SFTConfig | None = None) -> Policy:
    """Return the policy before any training: tokenizer from the tasks' own texts, weights from the seed.

    Args:
        recipe: Sizes and seed.
        texts_of: Whose demonstrations the tokenizer is made from; None: all tiers of ENV.
    """
    source = texts_of or SFTConfig(env=ENV, tier=(0, 5), steps=300, seed=recipe.seed + 1)
    texts = (demonstration.text for batch in demonstrations(source) for demonstration in batch)
    tokenizer = train_tokenizer(texts, recipe.vocabulary)
    torch.manual_seed(recipe.seed)
    model = AutoModelForCausalLM.from_config(_config(recipe, tokenizer))
    return Policy(model, tokenizer)


def careful_phase(recipe: Recipe) -> SFTConfig:
    """Worked solutions only, from scratch."""
    return SFTConfig(
        env=ENV,
        tier=TRAINED_TIERS,
        steps=recipe.careful_steps,
        optimizer="muon",
        learning_rate=4e-3,
        matrix_rate=0.02,
        seed=recipe.seed + 2,
    )


def mixture_phase(recipe: Recipe) -> SFTConfig:
    """Mostly hasty answers, gently, so that careful working stays as right as it was."""
    return SFTConfig(
        env=ENV,
        tier=TRAINED_TIERS,
        steps=recipe.mixture_steps,
        careful=recipe.careful_share,
        learning_rate=5e-4,
        weight_decay=0.0,
        seed=recipe.seed + 3,
    )


def _config(recipe: Recipe, tokenizer: PreTrainedTokenizerFast) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=recipe.hidden,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        num_key_value_heads=recipe.heads,
        intermediate_size=3 * recipe.hidden,
        max_position_embeddings=recipe.context,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )


def _teach(policy: Policy, config: SFTConfig, phase: str) -> None:
    def report(step: int, loss: float) -> None:
        if step % 100 == 0:
            logger.info("%s step %d of %d, loss %.3f", phase, step, config.steps, loss)

    sft(policy, config, report)


def _scores(policy: Policy, phase: str) -> dict[str, Any]:
    """Return validation scores of the tiers it is made for and of harder ones; the test split stays unread."""
    figures = {}
    for low, high in (MADE_FOR, HARDER):
        choice = EnvChoice(ENV, {"tier": [low, high]})
        seeds = distinct_seeds(choice, "val", 0, 1024)
        for greedy in (False, True):
            score = evaluate(policy, choice, "val", seeds, Sampling(), greedy=greedy).to_json()
            name = f"tiers {low}-{high} {'greedy' if greedy else 'sampled'}"
            figures[name] = score
            logger.info("%s, %s: pass@1 %.3f, length %.1f", phase, name, score["pass@1"], score["length"])
    return figures


def main() -> None:
    """Make the policy from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the finished policy")
    parser.add_argument("--careful-steps", type=int, default=Recipe.careful_steps)
    parser.add_argument("--mixture-steps", type=int, default=Recipe.mixture_steps)
    parser.add_argument("--seed", type=int, default=Recipe.seed)
    parser.add_argument("--threads", type=int, default=Recipe.threads)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    recipe = Recipe(
        careful_steps=options.careful_steps,
        mixture_steps=options.mixture_steps,
        seed=options.seed,
        threads=options.threads,
    )
    make(recipe, options.out)


if __name__ == "__main__":
    main()
