"""The policy from outside: what it reads, what it says, what it saves."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from transformers import PreTrainedTokenizerFast

from grpo_agents.packing import Group
from grpo_agents.policy import Policy
from grpo_agents.prompting import PromptStyle
from grpo_gym.errors import ModelError
from tests.agents.tiny_models import BYTE_VOCAB, CHATML, CONTEXT, byte_tokenizer, fresh_model

QUESTION = [{"role": "user", "content": "2+2?"}]


def policy_of(template: str | None = None, style: PromptStyle = "auto", system: str | None = None) -> Policy:
    return Policy(fresh_model("llama", BYTE_VOCAB), byte_tokenizer(template), prompt_style=style, system_prompt=system)


def test_decode_drops_end_and_special_tokens():
    policy = policy_of()
    ids = policy.tokenizer("<|user|>4 é \n<pad>!<eos>", add_special_tokens=False)["input_ids"]

    assert policy.decode(ids) == "4 é \n!"


def test_decode_drops_an_end_token_that_is_not_marked_special():
    policy = policy_of()
    newline = policy.tokenizer("\n", add_special_tokens=False)["input_ids"]
    policy.eos_ids |= set(newline)

    assert policy.decode([*policy.tokenizer("4", add_special_tokens=False)["input_ids"], *newline]) == "4"


def test_every_end_token_counts():
    """Config, generation config (a list) and tokenizer may each name others; ids the model cannot draw do not count."""
    model = fresh_model("llama", BYTE_VOCAB, eos_token_id=7)
    assert model.generation_config is not None
    model.generation_config.eos_token_id = [8, 9, 5000]

    assert Policy(model, byte_tokenizer()).eos_ids == {2, 7, 8, 9}


def test_no_end_token_is_refused():
    model = fresh_model("llama", BYTE_VOCAB, eos_token_id=None)

    with pytest.raises(ModelError, match=r"no end token: .*; set tokenizer.eos_token to the token that ends an answer"):
        Policy(model, byte_tokenizer(bos_token="<bos>"))


def test_a_tokenizer_larger_than_the_embedding_is_refused():
    with pytest.raises(ModelError, match=r"ids go up to 261, but the model's embedding has 97 rows: .* do not belong"):
        Policy(fresh_model("llama"), byte_tokenizer())


@pytest.mark.parametrize(
    ("special", "config_pad", "expected"),
    [
        ({"pad_token": "<pad>", "eos_token": "<eos>"}, 7, 0),
        ({"eos_token": "<eos>"}, 7, 7),
        ({"eos_token": "<eos>"}, None, 2),
    ],
)
def test_padding_id(special, config_pad, expected):
    model = fresh_model("llama", BYTE_VOCAB, pad_token_id=config_pad)

    assert Policy(model, byte_tokenizer(**special)).pad_id == expected


def test_context_room_and_device():
    policy = policy_of()

    assert policy.context == CONTEXT
    assert policy.room(CONTEXT - 3) == 3
    assert policy.device == torch.device("cpu")
    policy.context = None
    assert policy.room(10**9) == sys.maxsize


def test_gemma2_is_loaded_with_an_attention_that_can_cap(tmp_path):
    Policy(fresh_model("gemma2", BYTE_VOCAB), byte_tokenizer()).save(tmp_path / "model")

    policy = Policy.load(tmp_path / "model", device="cpu")

    assert policy.model.config._attn_implementation == "eager"
    assert len(policy.sample([policy.render(QUESTION)], 2, max_tokens=3)) == 2


def test_sampled_answers_have_the_logprobs_that_training_sees():
    policy = policy_of()
    prompt = policy.render(QUESTION)

    drawn = policy.sample([prompt], 4, max_tokens=10, temperature=0.8, generator=torch.Generator().manual_seed(0))

    tails = [completion.ids for completion in drawn]
    trained = policy.logprobs([Group(prompt, tails, [[True] * len(tail) for tail in tails])], 0.8)
    sampled = torch.tensor([value for completion in drawn for value in completion.logprobs])
    torch.testing.assert_close(trained.detach(), sampled, atol=1e-4, rtol=0)


class TestSave:
    GROUPS = (Group([5, 6, 7], [[20, 21, 22], [30]], [[True] * 3, [True]]),)

    def test_loading_what_was_saved_gives_identical_logprobs(self, tmp_path):
        policy = policy_of(CHATML)
        policy.save(tmp_path / "deep" / "best")

        loaded = Policy.load(tmp_path / "deep" / "best", device="cpu")

        assert torch.equal(loaded.logprobs(self.GROUPS), policy.logprobs(self.GROUPS))
        assert loaded.render(QUESTION) == policy.render(QUESTION)
        assert (loaded.eos_ids, loaded.pad_id, loaded.context) == (policy.eos_ids, policy.pad_id, policy.context)
        assert loaded.prompting.template_hash == policy.prompting.template_hash
        assert names_in(tmp_path / "deep") == ["best"]

    def test_the_files_are_no_pickles(self, tmp_path):
        policy_of().save(tmp_path / "best")

        assert {path.suffix for path in (tmp_path / "best").iterdir()} == {".json", ".safetensors"}

    def test_an_error_midway_leaves_the_old_folder_and_no_half_one(self, tmp_path, monkeypatch):
        policy = policy_of()
        policy.save(tmp_path / "best")
        before = policy.logprobs(self.GROUPS).detach()
        with torch.no_grad():
            next(policy.model.parameters()).mul_(2)

        monkeypatch.setattr(PreTrainedTokenizerFast, "save_pretrained", out_of_space)
        for target in ("best", "new"):
            with pytest.raises(OSError, match="No space left"):
                policy.save(tmp_path / target)

        assert names_in(tmp_path) == ["best"]
        assert torch.equal(Policy.load(tmp_path / "best", device="cpu").logprobs(self.GROUPS), before)

    def test_an_existing_folder_is_replaced_whole(self, tmp_path):
        policy = policy_of()
        policy.save(tmp_path / "best")
        (tmp_path / "best" / "stale.json").write_text("{}")

        policy.save(tmp_path / "best")

        assert "stale.json" not in names_in(tmp_path / "best")
        assert names_in(tmp_path) == ["best"]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def out_of_space(*args: object, **kwargs: object) -> None:
    raise OSError(28, "No space left on device")
