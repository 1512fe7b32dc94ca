"""Text of a policy on a terminal: made visible, never obeyed."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_gym.printing import HIDDEN_CATEGORIES, visible


@given(st.text(st.characters()))
def test_nothing_that_a_terminal_obeys_gets_through(text):
    shown = visible(text)
    assert all(c in "\n\t" or unicodedata.category(c) not in HIDDEN_CATEGORIES for c in shown)
    shown.encode()
    assert visible(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\rb\x08", "a\\rb\\x08"),
        ("\u202eabc", "\\u202eabc"),
        ("\ud800", "\\ud800"),
        ("\u2028", "\\u2028"),
        ("[/bold] é 答\n\tx", "[/bold] é 答\n\tx"),
    ],
)
def test_controls_are_escaped_and_words_are_left_alone(text, shown):
    assert visible(text) == shown


def test_a_long_text_is_cut_and_says_how_long_it_was():
    assert visible("x" * 50, limit=10) == "xxxxxxxxxx ... (50 characters)"
    assert visible("x" * 10, limit=10) == "x" * 10
