"""Layers computed again in the backward pass: the same gradients, less memory, dropout off, and the sampler as ever."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from grpo_agents.critic import make_critic
from grpo_agents.logprobs import LogProbs
from grpo_agents.recompute import recomputing, repeated_layers
from grpo_agents.sampler import Sampler
from grpo_gym.errors import ModelError
from tests.agents.runs import babbler, identical, learn, short, weights
from tests.agents.tiny_models import fresh_model, ragged_groups, random_prompts

GROUPS = ragged_groups()
DROPOUTS = {
    "gpt2": {"resid_pdrop": 0.5, "embd_pdrop": 0.5, "attn_pdrop": 0.5},
    "llama": {"attention_dropout": 0.5},
    "gemma": {"attention_dropout": 0.5},
    "gemma2": {"attention_dropout": 0.5},
    "phi": {"attention_dropout": 0.5, "resid_pdrop": 0.5, "embd_pdrop": 0.5},
}


@contextlib.contextmanager
def counted() -> Iterator[list[int]]:
    """Count the bytes that are saved for the backward pass."""
    seen: set[int] = set()
    total = [0]

    def save(tensor: Tensor) -> Tensor:
        if tensor.untyped_storage().data_ptr() not in seen:
            seen.add(tensor.untyped_storage().data_ptr())
            total[0] += tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(save, lambda tensor: tensor):
        yield total


def gradients(logprobs: LogProbs) -> tuple[Tensor, int]:
    """Return the gradient of all that learns as one vector, and the bytes saved beside the weights."""
    learns = [parameter for parameter in logprobs.model.parameters() if parameter.requires_grad]
    held = sum(p.untyped_storage().nbytes() for p in logprobs.model.parameters())
    with counted() as total:
        reading = logprobs.read(GROUPS, 0.8, entropies=True)
    assert reading.entropies is not None
    loss = (reading.logprobs * torch.linspace(-1, 1, len(reading.logprobs))).sum() + reading.entropies.sum()
    slopes = torch.autograd.grad(loss, learns, allow_unused=True)
    return torch.cat([slope.flatten() for slope in slopes if slope is not None]), total[0] - held


def adapted(architecture: str) -> Any:
    """Return a model with an adapter that is no longer zero, so that everything in it has a gradient."""
    peft = pytest.importorskip("peft")
    targets = ["c_attn"] if architecture == "gpt2" else ["q_proj", "v_proj"]
    fan = architecture == "gpt2"
    config = peft.LoraConfig(r=2, target_modules=targets, lora_dropout=0.5, fan_in_fan_out=fan, task_type="CAUSAL_LM")
    model: Any = peft.get_peft_model(fresh_model(architecture, num_hidden_layers=6), config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.fill_(0.1)
    return model


@pytest.mark.filterwarnings("ignore::FutureWarning")  # peft asks transformers in an old way
@pytest.mark.parametrize("lora", [False, True])
@pytest.mark.parametrize("architecture", DROPOUTS)
def test_gradients_are_the_same_with_dropout_off_and_less_is_kept(architecture, lora):
    """Whatever dropout the model was configured with; six layers deep, so that the layers weigh."""
    deep: dict[str, Any] = {"num_hidden_layers": 6, **DROPOUTS[architecture]}
    if lora and architecture == "phi":
        pytest.skip("its adapter is no other than that of llama")
    model = adapted(architecture) if lora else fresh_model(architecture, **deep)
    logprobs = LogProbs(model, 0)
    plain, much = gradients(logprobs)

    logprobs.recompute_layers()
    again, little = gradients(logprobs)

    assert len(logprobs.recomputed) == 6
    assert float((again - plain).norm() / plain.norm()) < 1e-6
    assert little < much / 2
    assert not any(module.training for module in model.modules())


def test_the_sampler_keeps_its_cache_and_its_bits():
    model = fresh_model("llama")
    sampler, logprobs = Sampler(model, [2], 0), LogProbs(model, 0)
    prompts = random_prompts([5, 9])
    before = sampler(prompts, 3, max_tokens=8, generator=torch.Generator().manual_seed(0))
    logprobs.recompute_layers()
    lengths = []
    hook = model.model.register_forward_pre_hook(
        lambda module, args, kwargs: lengths.append(kwargs["input_ids"].shape[1]), with_kwargs=True
    )

    reading = logprobs(GROUPS)
    lengths.clear()
    after = sampler(prompts, 3, max_tokens=8, generator=torch.Generator().manual_seed(0))
    hook.remove()
    reading.sum().backward()

    assert after == before
    assert lengths[1:] == [1] * (len(lengths) - 1)
    assert len(lengths) > 3


def test_without_gradients_nothing_is_replaced_and_afterwards_nothing_is_left():
    model = fresh_model("llama")
    layers = repeated_layers(model)
    other = layers[0].forward
    layers[0].forward = other  # as accelerate puts one on
    with torch.no_grad(), recomputing(layers):
        assert "forward" not in vars(layers[1])
    with contextlib.suppress(ZeroDivisionError), recomputing(layers):
        assert vars(layers[0])["forward"] is not other
        raise ZeroDivisionError

    assert vars(layers[0])["forward"] is other
    assert "forward" not in vars(layers[1])


def test_a_model_that_marks_no_layers_says_what_to_do():
    class Foreign(nn.Linear):
        pass

    with pytest.raises(ModelError, match=r"Foreign marks no layers.*leave optimisation.gradient_checkpointing off"):
        repeated_layers(Foreign(2, 3))


@pytest.mark.parametrize("algo", ["grpo", "ppo"])
def test_a_run_ends_at_the_same_weights_and_its_critic_recomputes_too(algo):
    rewarded: dict[str, Any] = {
        "env": "grpo/Math.Linear-v0",
        "env_args": {"reward": lambda response, problem: len(response) % 3 / 2},
    }
    plain, again = babbler(), babbler()

    learn(plain, short(algo=algo, critic={"kind": "separate"}, **rewarded))
    rewarded["optimisation"] = {"gradient_checkpointing": True}
    learn(again, short(algo=algo, critic={"kind": "separate"}, **rewarded))

    assert again.logprobs.recomputed
    assert not plain.logprobs.recomputed
    assert not identical(weights(plain), weights(babbler()))
    assert identical(weights(plain), weights(again))
    critic: Any = make_critic("separate", again)
    assert len(critic.logprobs.recomputed) == 2
