"""The policy from outside: what it reads, what it says, what it saves."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers
from transformers import PreTrainedTokenizerFast

from grpo_agents.atomic import new_folder
from grpo_agents.packing import Group
from grpo_agents.policy import Policy
from grpo_agents.prompting import Prompting, PromptStyle
from grpo_gym.errors import InvalidValueError, ModelError
from tests.agents.tiny_models import BYTE_VOCAB, CHATML, CONTEXT, byte_tokenizer, fresh_model, wrap

QUESTION = [{"role": "user", "content": "2+2?"}]
COUNTING = (  # not prefix-stable: each turn is numbered from the end
    "{% for m in messages %}[{{ loop.revindex }}]{{ m['content'] }}<eos>{% endfor %}"
    "{% if add_generation_prompt %}[0]{% endif %}"
)
FORGETFUL = (  # not prefix-stable: reasoning of earlier turns is dropped, as Qwen 3 and DeepSeek R1 do
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'].split('</think>\n')[-1] }}<eos>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
ONE_TURN = "<|user|>{{ messages[-1]['content'] }}<eos><|assistant|>"
REFUSING = "{{ raise_exception('only user messages') if messages[0]['role'] != 'user' else messages[0]['content'] }}"


def policy_of(template: str | None = None, style: PromptStyle = "auto", system: str | None = None) -> Policy:
    return Policy(fresh_model("llama", BYTE_VOCAB), byte_tokenizer(template), prompt_style=style, system_prompt=system)


def text_of(policy: Policy, ids: list[int]) -> str:
    return str(policy.tokenizer.decode(ids))


class TestRaw:
    def test_prompt_is_bos_contents_and_a_newline(self):
        policy = policy_of()

        assert policy.prompting.style == "raw"
        assert text_of(policy, policy.render(QUESTION)) == "<bos>2+2?\n"
        assert text_of(policy, policy.render([*QUESTION, {"role": "user", "content": "é"}])) == "<bos>2+2?\né\n"

    def test_a_bos_that_is_there_is_not_doubled(self):
        policy = policy_of()

        assert text_of(policy, policy.render([{"role": "user", "content": "<bos>hi"}])) == "<bos>hi\n"

    def test_a_tokenizer_without_bos_adds_none(self):
        tokenizer = byte_tokenizer(eos_token="<eos>")
        policy = Policy(fresh_model("llama", BYTE_VOCAB), tokenizer)

        assert text_of(policy, policy.render(QUESTION)) == "2+2?\n"

    def test_system_prompt_is_the_first_line(self):
        policy = policy_of(system="Be brief.")

        assert text_of(policy, policy.render(QUESTION)) == "<bos>Be brief.\n2+2?\n"

    def test_reply_stands_between_newlines_without_bos(self):
        policy = policy_of()

        assert text_of(policy, policy.render_reply("wrong")) == "\nwrong\n"

    def test_style_raw_ignores_a_template(self):
        policy = policy_of(CHATML, "raw")

        assert text_of(policy, policy.render(QUESTION)) == "<bos>2+2?\n"
        assert policy.prompting.template_hash is None


class TestChat:
    def test_auto_takes_the_template(self):
        policy = policy_of(CHATML, system="Be brief.")

        assert policy.prompting.style == "chat"
        assert text_of(policy, policy.render(QUESTION)) == (
            "<|system|>Be brief.<eos>\n<|user|>2+2?<eos>\n<|assistant|>"
        )

    def test_template_hash_follows_the_template(self):
        hashes = {policy_of(template).prompting.template_hash for template in (CHATML, ONE_TURN)}

        assert all(len(value or "") == 12 for value in hashes)
        assert len(hashes) == 2

    @pytest.mark.parametrize("answers", [["4", "four"], ["<b>", "\n"], ["", "é"]])
    def test_turn_by_turn_equals_the_whole_where_the_template_is_stable(self, answers, caplog):
        policy = policy_of(CHATML)
        messages = list(QUESTION)
        ids = policy.render(messages)

        for answer in answers:
            ids += policy.tokenizer(answer + "<eos>", add_special_tokens=False)["input_ids"]
            ids += policy.render_reply("again: é")
            messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": "again: é"}]

        assert ids == policy.render(messages)
        assert caplog.messages == []

    def test_a_cut_answer_is_closed_by_the_template(self):
        policy = policy_of(CHATML)

        assert text_of(policy, policy.render_reply("no", ended=True)) == "\n<|user|>no<eos>\n<|assistant|>"
        assert text_of(policy, policy.render_reply("no", ended=False)) == "<eos>\n<|user|>no<eos>\n<|assistant|>"

    @pytest.mark.parametrize("template", [COUNTING, FORGETFUL])
    def test_a_template_that_rewrites_earlier_turns_is_said_once(self, template, caplog):
        policy = policy_of(template)

        with caplog.at_level(logging.WARNING):
            for _ in range(2):
                policy.render_reply("no")

        assert caplog.messages == ["the chat template rewrites earlier turns; they stay as they were sampled"]

    def test_a_template_of_one_turn_cannot_take_a_reply(self):
        with pytest.raises(ModelError, match="drops earlier answers, so it cannot hold a second turn: use 'raw'"):
            policy_of(ONE_TURN).render_reply("no")

    def test_a_template_that_refuses_is_a_model_error(self):
        with pytest.raises(ModelError, match="the chat template refuses messages of system, user: only user messages"):
            policy_of(REFUSING, system="Be brief.").render(QUESTION)

    def test_style_chat_needs_a_template(self):
        with pytest.raises(ModelError, match="needs a tokenizer with a chat template: take 'raw' or 'auto'"):
            policy_of(None, "chat")


def test_an_unknown_style_is_refused():
    with pytest.raises(InvalidValueError, match="prompt_style must be 'auto', 'chat' or 'raw', not 'chatml'"):
        policy_of(None, "chatml")  # type: ignore[arg-type]  # that is the test


def test_a_prompt_that_becomes_nothing_is_refused():
    tokenizer = byte_tokenizer()
    tokenizer.backend_tokenizer.normalizer = normalizers.Replace("zzz\n", "")

    with pytest.raises(ModelError, match=r"the tokenizer makes no tokens of 'zzz\\n'"):
        Prompting(tokenizer, frozenset({2})).render([{"role": "user", "content": "zzz"}])


def test_a_word_that_the_tokenizer_refuses_is_a_model_error():
    backend = Tokenizer(models.WordLevel({"<eos>": 0, "two": 1}, unk_token="<none>"))
    tokenizer = wrap(backend, eos_token="<eos>")

    with pytest.raises(ModelError, match=r"the tokenizer cannot encode 'three\\n': WordLevel error"):
        Prompting(tokenizer, frozenset({0})).render([{"role": "user", "content": "three"}])


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


def test_a_failed_rename_puts_the_old_folder_back(tmp_path, monkeypatch):
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "old").write_text("old")
    rename = Path.rename

    def refuse(path: Path, target: Path) -> Path:
        if path.suffix == ".tmp":
            raise OSError("Device or resource busy")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(OSError, match="busy"), new_folder(tmp_path / "best") as fresh:
        (fresh / "new").write_text("new")

    assert names_in(tmp_path) == ["best"]
    assert names_in(tmp_path / "best") == ["old"]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def out_of_space(*args: object, **kwargs: object) -> None:
    raise OSError(28, "No space left on device")
