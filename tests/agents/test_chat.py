"""Answers token by token equal sampled ones, a conversation keeps its tokens as drawn, no half character is shown."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models

from grpo_agents.chat import Chat, TextStream
from grpo_agents.config import Sampling
from grpo_agents.policy import Policy
from grpo_agents.sampler import Sampler
from grpo_gym.errors import InvalidValueError, ModelError
from tests.agents.tiny_models import (
    ARCHITECTURES,
    BYTE_VOCAB,
    CHATML,
    CONTEXT,
    alone,
    byte_tokenizer,
    fresh_model,
    message_of,
    random_prompts,
    tiny_model,
    wrap,
)

EOS = frozenset({2, 5, 11})
BYTES: Any = byte_tokenizer()  # transformers annotates `decode` as text or texts


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def talker(template: str | None = None, context: int = 512) -> Policy:
    return Policy(fresh_model("llama", BYTE_VOCAB, max_position_embeddings=context), byte_tokenizer(template))


def chat_of(policy: Policy, max_tokens: int = 12, seed: int = 0) -> Chat:
    return Chat(policy, Sampling(max_tokens=max_tokens), generator=seeded(seed))


@pytest.mark.parametrize(("greedy", "temperature"), [(True, 1.0), (False, 1.0), (False, 0.6)])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_stream_is_what_sampling_draws_with_the_same_seed(architecture, greedy, temperature):
    sampler = Sampler(tiny_model(architecture), EOS, 0, context=CONTEXT)
    for prompt in random_prompts([9, 1, CONTEXT - 5]):
        settings = {"max_tokens": 20, "temperature": temperature, "greedy": greedy}
        (whole,) = sampler([prompt], **settings, generator=seeded(3))
        stream = list(sampler.stream(prompt, **settings, generator=seeded(3)))

        assert [token for token, _ in stream] == whole.ids
        assert [logprob for _, logprob in stream] == whole.logprobs


def test_a_stream_takes_as_many_random_numbers_as_sampling_does():
    sampler, first, second = Sampler(tiny_model("llama"), EOS, 0, context=CONTEXT), seeded(), seeded()

    sampler([[5] * (CONTEXT - 4)], max_tokens=9, generator=first)
    list(sampler.stream([5] * (CONTEXT - 4), max_tokens=9, generator=second))

    assert torch.equal(first.get_state(), second.get_state())


def test_a_stream_refuses_what_sampling_refuses():
    sampler = Sampler(tiny_model("llama"), EOS, 0, context=CONTEXT)

    assert "an empty prompt" in message_of(lambda: list(sampler.stream([], max_tokens=3)))
    assert "does not fit" in message_of(lambda: list(sampler.stream([5] * CONTEXT, max_tokens=3)))
    with pytest.raises(InvalidValueError, match="max_tokens must be at least 1, not 0"):
        list(sampler.stream([5], max_tokens=0))


@pytest.mark.parametrize("template", [None, CHATML])
def test_an_answer_in_pieces_is_the_sampled_answer(template):
    policy = talker(template)
    prompt = policy.render([{"role": "user", "content": "Größe?"}])
    (whole,) = policy.sample([prompt], max_tokens=40, generator=seeded(1))
    chat = chat_of(policy, 40, seed=1)

    pieces = list(chat.say("Größe?"))

    assert chat.trajectory is not None
    assert (chat.trajectory.prompt, chat.trajectory.tail) == (prompt, whole.ids)
    assert "".join(pieces) == policy.decode(whole.ids)
    assert len(pieces) > 5


@pytest.mark.parametrize("template", [None, CHATML])
def test_two_turns_equal_a_plain_forward_over_the_same_tokens(template):
    policy = talker(template)
    chat = chat_of(policy)

    for message in ("one", "two 日", "three"):
        list(chat.say(message))

    trajectory = chat.trajectory
    assert trajectory is not None
    expected = alone(policy.model, trajectory.prompt, trajectory.tail)[torch.tensor(trajectory.own)]
    drawn = torch.tensor([value for value, own in zip(trajectory.logprobs, trajectory.own, strict=True) if own])
    torch.testing.assert_close(drawn, expected, atol=1e-4, rtol=0)
    assert trajectory.own_length > 12


def test_row_12_what_was_drawn_is_not_tokenised_again():
    """Random bytes decode to text that encodes otherwise; the next turn must stand behind the bytes themselves."""
    policy = talker()
    chat = chat_of(policy, 30)
    list(chat.say("a"))
    assert chat.trajectory is not None
    first, ended = list(chat.trajectory.context), chat.trajectory.ended
    drawn = chat.trajectory.tail
    assert policy.tokenizer(policy.decode(drawn), add_special_tokens=False)["input_ids"] != drawn

    list(chat.say("b"))

    reply = policy.render_reply("b", ended=ended)
    assert chat.trajectory.context[: len(first) + len(reply)] == first + reply


def test_an_answer_that_is_stopped_stays_as_far_as_it_was_drawn():
    chat = chat_of(talker(), 40)
    pieces = chat.say("a")
    shown = next(pieces) + next(pieces)
    pieces.close()

    assert chat.trajectory is not None
    assert (chat.trajectory.ended, chat.cut) == (False, True)
    assert 2 <= chat.trajectory.own_length < 12
    assert chat.policy.decode(chat.trajectory.tail).startswith(shown)
    assert list(chat.say("and now?"))


def test_one_token_is_an_answer_too_and_one_that_was_cut_is_closed_before_the_next_message():
    policy = talker(CHATML)
    policy.sampler.eos_ids = []
    chat = chat_of(policy, 1)
    list(chat.say("a"))
    assert chat.trajectory is not None
    assert (chat.trajectory.own_length, chat.cut) == (1, True)
    first = list(chat.trajectory.context)

    list(chat.say("b"))

    reply = policy.render_reply("b", ended=False)
    assert reply[0] == policy.tokenizer.eos_token_id
    assert chat.trajectory.context[:-1] == first + reply


def test_a_message_without_an_answer_was_not_said(monkeypatch):
    chat = chat_of(talker())
    list(chat.say("a"))
    assert chat.trajectory is not None
    before = list(chat.trajectory.context)

    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(chat.policy.sampler, "_prefill", interrupted)
        with pytest.raises(KeyboardInterrupt):
            list(chat.say("b"))

    assert chat.trajectory.context == before
    assert list(chat.say("b"))


def test_a_message_that_does_not_fit_says_so_and_changes_nothing():
    chat = chat_of(talker(context=64), 5)

    assert message_of(lambda: list(chat.say("x" * 80))) == (
        "a message of 82 tokens does not fit the model's context of 64 tokens with room for an answer: shorten it"
    )
    assert chat.trajectory is None
    list(chat.say("x" * 40))
    assert chat.trajectory is not None
    said = len(chat.trajectory.context)
    told = message_of(lambda: list(chat.say("y" * 40)))
    assert told == (
        f"the model's context of 64 tokens is full ({said} said, 42 in the new message): begin a new conversation"
    )
    assert len(chat.trajectory.context) == said
    assert list(chat.say("y"))  # a shorter one fits


def test_an_answer_that_fills_the_context_is_cut_there_and_a_new_conversation_goes_on():
    policy = talker(context=64)
    policy.sampler.eos_ids = []
    chat = chat_of(policy, 100)
    list(chat.say("abc"))

    assert (chat.full, chat.cut) == (True, True)
    assert chat.trajectory is not None
    assert len(chat.trajectory.context) == 64
    with pytest.raises(ModelError, match="is full"):
        list(chat.say("d"))
    chat.begin()
    assert not chat.full
    assert list(chat.say("abc"))


def test_another_instruction_begins_a_conversation_that_reads_it():
    chat = chat_of(talker(CHATML))
    list(chat.say("a"))

    chat.instruct("Be brief.")
    list(chat.say("a"))

    assert chat.trajectory is not None
    assert str(chat.policy.tokenizer.decode(chat.trajectory.prompt)).startswith("<|system|>Be brief.<eos>")


class TestTextStream:
    @given(st.text(max_size=30))
    def test_whole_characters_and_nothing_else(self, text):
        stream = TextStream(BYTES.decode)

        pieces = [stream.add(token) for token in BYTES(text, add_special_tokens=False)["input_ids"]]

        assert all("\ufffd" not in piece for piece in pieces) or "\ufffd" in text
        assert "".join(pieces) + stream.finish() == BYTES.decode(BYTES(text, add_special_tokens=False)["input_ids"])

    @given(st.lists(st.integers(6, BYTE_VOCAB - 1), max_size=60))
    def test_broken_bytes_come_out_as_the_whole_text_has_them(self, ids):
        stream = TextStream(BYTES.decode)

        pieces = [stream.add(token) for token in ids]

        assert "".join(pieces) + stream.finish() == BYTES.decode(ids)

    def test_broken_bytes_are_not_held_back_for_ever(self):
        stream = TextStream(BYTES.decode)
        lone = BYTES("é", add_special_tokens=False)["input_ids"][1]

        shown = [stream.add(lone) for _ in range(10)]

        assert "".join(shown) == "\ufffd" * 7

    @given(st.lists(st.integers(0, 255), max_size=40))
    def test_a_decoder_that_takes_back_what_it_said_is_told_in_full_at_the_end(self, values):
        """Byte fallback makes a whole run of bytes broken when one is: its earlier characters change."""
        words = {f"<0x{value:02X}>": value for value in range(256)}
        backend = Tokenizer(models.BPE(vocab=words, merges=[], byte_fallback=True))
        backend.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
        decode: Any = wrap(backend).decode
        stream = TextStream(decode)

        shown = "".join(stream.add(value) for value in values)
        whole = shown + stream.finish()

        text = decode(values)
        assert whole == text or whole == f"{shown}\n{text}"
        assert whole == text or not text.startswith(shown)
