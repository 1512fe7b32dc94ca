"""Exported folders: the same model in plain transformers, read as it was trained, checked, whole or not there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer

from grpo_agents import export as exporting
from grpo_agents.chat_template import tokenizer_as_read
from grpo_agents.collect import Episode
from grpo_agents.config import Sampling, TrainConfig
from grpo_agents.environments import EnvChoice
from grpo_agents.evaluate import Score, paired_change
from grpo_agents.export import Trial, Weights, export
from grpo_agents.policy import Policy
from grpo_agents.source import Source, find_source, sampling_of
from grpo_gym.errors import CheckpointError
from tests.agents.runs import babbler, learn, short
from tests.agents.tiny_models import (
    ARCHITECTURES,
    BYTE_VOCAB,
    CHATML,
    byte_tokenizer,
    fresh_model,
    message_of,
    random_prompts,
    wrap,
)

SYSTEM = "Be 'brief', \"kind\"\n{{ eos_token }} {% endif %} and 日本: \\n"
MODEL = Source(TrainConfig(model="embedded"))
plain_model: Any = AutoModelForCausalLM
plain_tokenizer: Any = AutoTokenizer


def policy_of(architecture: str, **changes: Any) -> Policy:
    return Policy(fresh_model(architecture, BYTE_VOCAB + 8, **changes), byte_tokenizer())


def written(policy: Policy, out: Path, weights: Weights = "float32", source: Source = MODEL) -> dict[str, Any]:
    export(source, policy, out, weights)
    record: dict[str, Any] = json.loads((out / "export.json").read_text(encoding="utf-8"))
    return record


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A run of two steps, validated at both, in a folder whose name must not leave this machine."""
    path: Path = tmp_path_factory.mktemp("secret") / "run"
    config = short(
        env="grpo/Arithmetic-v0",
        system_prompt="Work it out.",
        sampling={"max_tokens": 7, "temperature": 0.9},
        evaluation={"every": 1, "val_problems": 4, "test_problems": 4},
    )
    policy = babbler()
    policy.prompting.system_prompt = config.system_prompt
    learn(policy, replace(config, model=str(path.parent / "model")), path=path)
    return path


class TestPlainTransformers:
    @pytest.mark.parametrize("architecture", [*ARCHITECTURES, "untied"])
    def test_row_40_the_same_logits_and_the_same_greedy_answer(self, architecture, tmp_path):
        tied = {} if architecture != "untied" else {"tie_word_embeddings": False}
        policy = policy_of("llama" if tied else architecture, **tied)
        written(policy, tmp_path / "out")

        model = plain_model.from_pretrained(tmp_path / "out", local_files_only=True)
        ids = torch.tensor(random_prompts([20]))
        with torch.no_grad():
            torch.testing.assert_close(model(input_ids=ids).logits, policy.model(input_ids=ids).logits)
        answer = model.generate(ids, do_sample=False, max_new_tokens=9, attention_mask=torch.ones_like(ids))
        (drawn,) = policy.sample(ids.tolist(), max_tokens=9, greedy=True)
        assert answer[0, 20:].tolist() == drawn.ids

    def test_row_13_all_end_tokens_and_a_sensible_length_are_named(self, tmp_path):
        model = fresh_model("llama", BYTE_VOCAB)
        model.generation_config.eos_token_id = [9, 11]
        policy = Policy(model, byte_tokenizer())
        written(policy, tmp_path / "out")

        generation = plain_model.from_pretrained(tmp_path / "out", local_files_only=True).generation_config
        assert generation.eos_token_id == [2, 9, 11]
        assert (generation.max_new_tokens, generation.pad_token_id) == (Sampling().max_tokens, 0)

    def test_a_run_is_drawn_from_as_it_was_trained(self, run, tmp_path):
        source = find_source(str(run))
        written(
            Policy.load(source.folder or "", device="cpu", system_prompt="Work it out."),
            tmp_path / "out",
            source=source,
        )

        generation = plain_model.from_pretrained(tmp_path / "out", local_files_only=True).generation_config
        assert (generation.do_sample, generation.temperature, generation.max_new_tokens) == (True, 0.9, 7)
        assert (generation.top_k, generation.top_p) == (0, 1.0)
        again = find_source(str(tmp_path / "out"))
        assert sampling_of(again, Policy.load(tmp_path / "out", device="cpu")) == Sampling(7, 0.9)

    def test_a_sampled_answer_of_a_run_comes_from_the_whole_distribution(self, run, tmp_path):
        """Transformers cuts to the 50 likeliest tokens where a folder does not say otherwise."""
        source = find_source(str(run))
        policy = Policy.load(source.folder or "", device="cpu")
        written(policy, tmp_path / "out", source=source)
        model = plain_model.from_pretrained(tmp_path / "out", local_files_only=True)
        ids = torch.tensor([[7, 8, 9]]).expand(3000, 3)
        with torch.no_grad():
            likely = set(model(input_ids=ids[:1]).logits[0, -1].topk(50).indices.tolist())

        torch.manual_seed(0)
        drawn = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=1)[:, 3].tolist()

        assert set(drawn) - likely


class TestTemplate:
    @pytest.mark.parametrize("system_prompt", [None, "Work it out.", SYSTEM])
    @pytest.mark.parametrize("template", [None, CHATML])
    def test_other_programs_ask_as_the_policy_was_asked(self, template, system_prompt, tmp_path):
        model = fresh_model("llama", BYTE_VOCAB, max_position_embeddings=256)
        policy = Policy(model, byte_tokenizer(template), system_prompt=system_prompt)
        record = written(policy, tmp_path / "out")

        loaded = Policy.load(tmp_path / "out", device="cpu")
        tokenizer = plain_tokenizer.from_pretrained(tmp_path / "out", local_files_only=True)
        for text in ("3 + 4?", "Größe\n 日本", "<b> {{ x }}"):
            messages = [{"role": "user", "content": text}]
            ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
            assert ids == policy.render(messages) == loaded.render(messages)
        assert record["check"]["template_as_read"] is True

    def test_a_raw_conversation_of_two_turns_is_read_alike(self, tmp_path):
        policy = policy_of("llama")
        written(policy, tmp_path / "out")
        tokenizer = plain_tokenizer.from_pretrained(tmp_path / "out", local_files_only=True)
        messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
        messages.append({"role": "user", "content": "c"})

        ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)

        answer = [*tokenizer("b", add_special_tokens=False)["input_ids"], 2]
        assert ids == [*policy.render(messages[:1]), *answer, *policy.render_reply("c")]

    def test_a_system_message_of_the_asker_takes_the_place_of_the_runs(self, tmp_path):
        policy = Policy(fresh_model("llama", BYTE_VOCAB), byte_tokenizer(CHATML), system_prompt="Work it out.")
        written(policy, tmp_path / "out")
        tokenizer = plain_tokenizer.from_pretrained(tmp_path / "out", local_files_only=True)
        messages = [{"role": "system", "content": "No."}, {"role": "user", "content": "a"}]

        assert tokenizer.apply_chat_template(messages, tokenize=False) == "<|system|>No.<eos>\n<|user|>a<eos>\n"

    def test_a_tokenizer_that_puts_a_space_before_a_text_is_asked_with_it(self):
        """As Llama's: behind a special token the first word would lose its space."""
        policy = Policy(fresh_model("llama", 300), spaced_tokenizer())

        tokenizer, exact = tokenizer_as_read(policy)

        assert exact
        assert str(tokenizer.chat_template).startswith("{{ bos_token }} {%")

    def test_where_no_template_reads_alike_it_is_said(self, tmp_path, monkeypatch, caplog):
        monkeypatch.setattr(exporting, "tokenizer_as_read", lambda policy: (policy.tokenizer, False))
        record = written(policy_of("llama"), tmp_path / "out")

        assert record["check"]["template_as_read"] is False
        assert caplog.messages == [
            "no chat template renders as this policy reads: other programs will ask it in another way"
        ]


def spaced_tokenizer() -> Any:
    """Return a tokenizer of characters that marks words by a space before them, the first one too."""
    special = ["<unk>", "<s>", "</s>"]
    letters = [chr(code) for code in range(32, 127)] + list("▁\nößéï日本")
    backend = Tokenizer(
        models.BPE(vocab={word: i for i, word in enumerate(special + letters)}, merges=[], unk_token="<unk>")
    )
    backend.normalizer = normalizers.Sequence([])
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    backend.decoder = decoders.Metaspace(prepend_scheme="first")
    return wrap(backend, unk_token="<unk>", bos_token="<s>", eos_token="</s>")


class TestFolder:
    def test_no_path_of_this_machine_is_written(self, run, tmp_path):
        for weights in ("float32", "int8"):
            source = find_source(str(run))
            policy = Policy.load(source.folder or "", device="cpu")
            written(policy, tmp_path / weights, weights, replace(source, config=placed(source.config, run)))

            for path in (tmp_path / weights).iterdir():
                assert str(run.parent).encode() not in path.read_bytes(), path.name

    def test_the_record_says_where_it_comes_from(self, run, tmp_path):
        source = find_source(str(run), 1)
        record = written(Policy.load(source.folder or "", device="cpu"), tmp_path / "out", source=source)

        origin = record["from"]
        assert (origin["model"], origin["env"], origin["step"], origin["steps"]) == (
            "model",
            "grpo/Arithmetic-v0",
            1,
            2,
        )
        assert origin["scores"] == {"val": 0.0, "test": None}
        assert set(record["sha256"]) == {path.name for path in (tmp_path / "out").iterdir()} - {"export.json"}
        assert set(record["versions"]) == {"grpo_gym", "torch", "transformers"}

    def test_test_scores_belong_to_the_last_step(self, run, tmp_path):
        (run / "summary.json").write_text(json.dumps({"steps": 2, "held_out": {"after": {"pass@1": 0.5}}}))
        try:
            source = find_source(str(run))
            record = written(Policy.load(source.folder or "", device="cpu"), tmp_path / "out", source=source)
        finally:
            (run / "summary.json").unlink()

        assert record["from"]["scores"]["test"] == {"pass@1": 0.5}

    def test_a_folder_that_holds_something_is_left_alone(self, tmp_path):
        (tmp_path / "precious").touch()
        with pytest.raises(CheckpointError, match="already holds something: choose a new folder with --out"):
            export(MODEL, babbler(), tmp_path, "float32")

        assert [path.name for path in tmp_path.iterdir()] == ["precious"]

    def test_what_does_not_load_as_it_was_is_not_kept(self, tmp_path, monkeypatch):
        other = policy_of("llama", rms_norm_eps=0.5)
        monkeypatch.setattr(Policy, "load", classmethod(lambda *args, **settings: other))

        told = message_of(export, MODEL, policy_of("llama"), tmp_path / "out", "float32")

        assert told.startswith(f"what was written to {tmp_path / 'out'} gives other log-probs, by ")
        assert list(tmp_path.iterdir()) == []

    def test_a_policy_with_damaged_weights_is_not_written(self, tmp_path):
        policy = babbler()
        policy.model.lm_head.weight.data.fill_(torch.nan)

        assert "no finite log-probs" in message_of(export, MODEL, policy, tmp_path / "out", "float32")
        assert list(tmp_path.iterdir()) == []

    def test_others_may_read_the_weights_if_they_may_read_the_config(self, tmp_path):
        written(babbler(), tmp_path / "out")

        assert len({path.stat().st_mode for path in (tmp_path / "out").iterdir()}) == 1


class TestRounding:
    @pytest.mark.parametrize("weights", ["int8", "bfloat16"])
    def test_size_speed_and_scores_are_told(self, weights, tmp_path):
        trial = Trial(EnvChoice("grpo/Arithmetic-v0"), 6, 0)
        record = export(MODEL, policy_of("llama", max_position_embeddings=256), tmp_path / "out", weights, trial)

        rounding = record["rounding"]
        assert 0 < rounding["divergence"] < 1
        assert min(rounding["tokens_per_second"].values()) > 0
        assert rounding["sampled"]["n"] == rounding["greedy"]["n"] == 6
        assert record["bytes"]["weights"] < 0.75 * record["bytes"]["float32"]

    def test_without_an_environment_no_score_is_claimed(self, tmp_path):
        record = export(MODEL, policy_of("llama"), tmp_path / "out", "int8")

        assert set(record["rounding"]) == {"divergence", "tokens_per_second"}

    @pytest.mark.parametrize("architecture", ARCHITECTURES)
    def test_bfloat16_is_what_is_written(self, architecture, tmp_path):
        written(policy_of(architecture), tmp_path / "out", "bfloat16")

        loaded = plain_model.from_pretrained(tmp_path / "out", local_files_only=True, dtype="auto")
        assert loaded.dtype is torch.bfloat16

    def test_eight_bits_do_not_become_floats_again(self, tmp_path):
        written(policy_of("llama"), tmp_path / "small", "int8")
        small = Policy.load(tmp_path / "small", device="cpu")

        assert "weights of 8 bits stay so" in message_of(export, MODEL, small, tmp_path / "out", "float32")
        assert written(small, tmp_path / "again", "int8")["rounding"]["divergence"] == 0


class TestSource:
    def test_the_newest_checkpoint_is_taken_unless_another_is_asked_for(self, run):
        assert (find_source(str(run)).step, find_source(str(run), 1).step) == (2, 1)
        best = find_source(str(run), "best")
        assert best.step == best.best == 1  # all scores are 0, and the first of equals is the best

    def test_a_checkpoint_named_by_its_folder_is_read_as_its_run(self, run):
        source = find_source(str(run / "checkpoints" / "step-000001"))

        assert (source.step, source.run, source.config.system_prompt) == (1, run, "Work it out.")

    def test_what_is_not_there_is_said(self, run, tmp_path):
        with pytest.raises(CheckpointError, match=r"has no checkpoint of step 7; there are \[1, 2\]"):
            find_source(str(run), 7)
        with pytest.raises(
            CheckpointError, match="--step names a checkpoint of a run, and embedded is not a run folder"
        ):
            find_source("embedded", "best")

    def test_a_run_that_was_never_validated_has_no_best(self, tmp_path):
        learn(babbler(), short(steps=1), path=tmp_path / "run")

        with pytest.raises(CheckpointError, match="has no best checkpoint, for it was never validated"):
            find_source(str(tmp_path / "run"), "best")


class TestPairedChange:
    def test_only_problems_judged_both_times_count(self):
        before, after = scores([1, 1, 0, None, 0]), scores([1, 0, 1, 1, None])

        assert paired_change(before, after) | {"low": 0, "high": 0} == {
            "n": 3,
            "before": 2 / 3,
            "after": 2 / 3,
            "change": 0.0,
            "low": 0,
            "high": 0,
        }

    def test_the_interval_turns_with_the_sign(self):
        one, two = scores([1, 1, 1, 0, 0, 1]), scores([1, 0, 0, 0, 1, 1])
        there, back = paired_change(one, two), paired_change(two, one)

        assert (there["low"], there["high"]) == pytest.approx((-back["high"], -back["low"]))

    def test_equal_answers_leave_a_doubt_that_shrinks(self):
        widths = [paired_change(scores([1] * n), scores([1] * n))["high"] for n in (10, 100, 1000)]

        assert 0.3 > widths[0] > widths[1] > widths[2] > 0

    def test_extremes_hold_the_change(self):
        found = paired_change(scores([0] * 5), scores([1] * 5))

        assert (found["change"], found["high"]) == (1.0, 1.0)

    def test_nineteen_of_twenty_intervals_hold_the_truth(self):
        """By simulation: pairs of which 5 % are won and 2 % lost, the true change being 3 points."""
        draws = np.random.default_rng(0).multinomial(1, [0.05, 0.02, 0.6, 0.33], size=(600, 120)).argmax(-1)
        first, second = np.array([0, 1, 1, 0])[draws], np.array([1, 0, 1, 0])[draws]

        held = 0
        for before, after in zip(first, second, strict=True):
            found = paired_change(scores(before.tolist()), scores(after.tolist()))
            held += found["low"] <= 0.03 <= found["high"]

        assert 0.92 < held / 600 < 0.985


def scores(rewards: list[int | None]) -> Score:
    """Return a score of these rewards; None was not judged."""
    return Score([Episode(0, "", None, reward=float(r or 0), valid=r is not None) for r in rewards], greedy=False)


def placed(config: TrainConfig, run: Path) -> TrainConfig:
    """Return a config whose options hold absolute paths."""
    return replace(config, env_args={"dataset": str(run.parent / "data.jsonl"), "nested": [{"a": str(run)}]})
