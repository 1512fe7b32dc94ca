r"""The shipped policy's tokenizer: bytes, so that any text survives, and whole words for what our tasks repeat.

Digits stay apart (arithmetic is learned digit by digit), each with the blank before it, so that "12 + 7" costs four
tokens; `\boxed{` is one.
"""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

PAD, BOS, EOS = "<pad>", "<bos>", "<eos>"

PIECES = r" ?\\boxed\{| ?\p{L}+| ?\p{N}| ?[^\s\p{L}\p{N}]+?(?=[\s\p{L}\p{N}\\]|$)| ?[^\s\p{L}\p{N}]|\s"
"""What may become one token: the opening of a box, a word, a digit, a run of signs, each with the blank before it."""

COMMON_WORDS = (
    "a all an and are as at be but by can each else every false first for from has have if implies in is it "
    "knave knight last left less more most neither next no not number of on one only or order right same says second "
    "so than that the "
    "their then there therefore these they this three to true two when where which who with yes you "
    "and assert break class continue def elif else except False for from if import in is lambda len list None not or "
    "pass print range return self set sorted str sum True try while yield"
)
"""Words that logic and code tasks repeat, so that they are single tokens in a policy that has only seen maths."""


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer trained on `texts` and the common words.

    Args:
        texts: Prompts and solutions.
        vocabulary: Largest number of tokens; 3 special ones and 256 bytes are always in.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        min_frequency=3,
        special_tokens=[PAD, BOS, EOS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    words = [f"{word} {word}" for word in COMMON_WORDS.split()] * 40
    tokenizer.train_from_iterator([*texts, *words], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=PAD, bos_token=BOS, eos_token=EOS)
