"""TextSpace: any Unicode text, cheap to copy, compare and sample, and clear where a text has no array form."""

from __future__ import annotations

import copy
import pickle
import time
from typing import Any

import pytest
from gymnasium.spaces.utils import flatdim, flatten, flatten_space
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate
from hypothesis import given
from hypothesis import strategies as st

from grpo_gym import TextSpace
from grpo_gym.errors import InvalidValueError


@given(st.text())
def test_every_text_belongs_to_the_space(text):
    assert text in TextSpace()
    assert text in TextSpace(len(text) or 1)
    assert (text in TextSpace(1)) == (len(text) <= 1)


@pytest.mark.parametrize("other", [None, 4, b"text", ["t"], ("t",)])
def test_nothing_else_belongs_to_it(other):
    assert other not in TextSpace()


def test_surrogates_and_nul_belong_to_it():
    assert "\ud800\x00" in TextSpace()


def test_it_is_small_where_a_text_space_of_all_unicode_weighs_46_megabytes():
    space = TextSpace()
    assert len(pickle.dumps(space)) < 1_000
    assert pickle.loads(pickle.dumps(space)) == copy.deepcopy(space) == space
    assert len(repr(space)) < 100
    assert hash(space) == hash(TextSpace())
    assert space != TextSpace(5)


def test_samples_are_short_repeatable_members():
    one, two = TextSpace(seed=3), TextSpace(seed=3)
    samples = [one.sample() for _ in range(50)]
    assert samples == [two.sample() for _ in range(50)]
    assert len(set(samples)) > 40
    assert all(sample in one and sample.isascii() for sample in samples)
    assert max(map(len, samples)) <= 24
    assert len(TextSpace(2, seed=1).sample()) <= 2
    for options in ({"mask": object()}, {"probability": object()}):
        with pytest.raises(InvalidValueError, match="takes no mask and no probability"):
            one.sample(**options)


def test_a_batch_of_512_samples_costs_milliseconds():
    """Gymnasium's Text(65536) takes 15 s here, and every check_env does it."""
    batch = batch_space(TextSpace(), 512)
    began = time.process_time()
    texts = batch.sample()
    assert time.process_time() - began < 0.5
    assert len(texts) == 512
    assert texts in batch


def test_a_batch_goes_through_gymnasiums_vector_functions():
    space = TextSpace()
    batch = batch_space(space, 3)
    assert list(iterate(batch, ("a", "b", "c"))) == ["a", "b", "c"]
    empty: Any = create_empty_array(space, 3)
    assert concatenate(space, ("a", "b", "c"), empty) == ("a", "b", "c")
    assert empty in batch


def test_flattening_is_refused_with_a_reason():
    space = TextSpace()
    assert not space.is_np_flattenable
    for refused in (lambda: flatdim(space), lambda: flatten(space, "a"), lambda: flatten_space(space)):
        with pytest.raises(InvalidValueError, match="a text cannot be flattened into numbers"):
            refused()


def test_a_length_below_one_is_refused():
    with pytest.raises(InvalidValueError, match="max_length is 0, must be at least 1"):
        TextSpace(0)
