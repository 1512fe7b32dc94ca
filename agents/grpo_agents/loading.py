"""Loading a model and its tokenizer, and the checks that turn silent nonsense into one clear sentence.

Each check stands for a fault that trains without an error and learns nothing: a tokenizer that drops words
(transformers picks its class by the model's config: a Qwen2 config beside a word tokenizer encodes text to nothing),
weights missing from the file and drawn at random, ids beyond the embedding, no end token. Weights are safetensors
only; a model's own Python code runs only when asked for.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from tokenizers import Tokenizer
from torch import nn
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)
from transformers.utils import logging as transformers_logging

from grpo_agents import quantised
from grpo_agents.adapter_files import base_name, is_adapter, read_adapter
from grpo_agents.hub import find_folder, one_line
from grpo_agents.lora import merged
from grpo_agents.traits import embedding_rows, text_config
from grpo_gym.errors import ModelError

_log = logging.getLogger(__name__)
_auto_model: Any = AutoModelForCausalLM  # with output_loading_info it returns a pair, which its annotation leaves out
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError, SafetensorError)
_SAMPLES = (
    "What is 12 + 3 * 4? Answer with a number.",
    "Anna says: Ben is a knave. Who is a knight?",
    "def f(x):\n    return x + 1",
    "Größe, naïve: 日本",
)


def load(
    name: str | Path, *, device: str = "auto", dtype: torch.dtype | None = None, trust_remote_code: bool = False
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load a causal language model and its tokenizer.

    Args:
        name: "embedded", a folder, or a hub id; of an adapter (LoRA) the model that it was trained on is read, too.
        device: A torch device, or "auto": CUDA where there is one, else the CPU.
        dtype: Type of the weights; None takes float32 on the CPU and bfloat16 elsewhere.
        trust_remote_code: Whether the model's own Python files may run.

    Raises:
        ModelError: Anything that keeps the model from being found, read or used.
    """
    folder = find_folder(name, trust_remote_code=trust_remote_code)
    place = find_device(device)
    kind = dtype or (torch.float32 if place.type == "cpu" else torch.bfloat16)
    chain = adapter_chain(folder)
    of_tokenizer = next((part for part in chain if any(part.glob("tokenizer*"))), chain[-1])
    tokenizer = load_tokenizer(of_tokenizer, trust_remote_code=trust_remote_code)
    model = load_model(chain[-1], kind, trust_remote_code=trust_remote_code)
    for adapter in reversed(chain[:-1]):  # each on what the one before it made of the model
        model = read_adapter(merged(model), adapter)
    nn.Module.to(model, place)
    return model, tokenizer


def adapter_chain(folder: Path) -> list[Path]:
    """Return a folder and, while it holds an adapter, the folder of that adapter's base behind it; the model is last.

    Raises:
        ModelError: A base is neither a folder nor in the local cache (the hub is not asked), or there is no end.
    """
    chain = [folder]
    while is_adapter(chain[-1]):
        name = base_name(chain[-1])
        try:
            base = find_folder(name, ask_hub=False)
        except ModelError as error:
            raise ModelError(
                f"the adapter in '{chain[-1]}' belongs to the model '{name}', which is not here: get it, or write "
                "where it is into base_model_name_or_path of adapter_config.json"
            ) from error
        if base.resolve() in [part.resolve() for part in chain]:
            raise ModelError(f"the adapter in '{chain[-1]}' names itself as the model that it belongs to ('{name}')")
        chain.append(base)
    return chain


def find_device(name: str) -> torch.device:
    """Return the torch device called `name`; "auto" is CUDA where there is one, else the CPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return torch.zeros(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise ModelError(f"device '{name}' cannot be used ({one_line(error)}): try 'auto' or 'cpu'") from error


def load_model(folder: Path, dtype: torch.dtype, *, trust_remote_code: bool = False) -> PreTrainedModel:
    """Load the weights of a folder; every weight must be in its files."""
    if not (folder / "config.json").is_file():
        raise ModelError(f"'{folder}' is no model folder: it has no config.json")
    if not any(folder.glob("*.safetensors")):
        raise ModelError(f"'{folder}' has no *.safetensors weights: save the model with save_pretrained first")
    try:
        if (folder / quantised.FILE).is_file():
            return quantised.read(folder, dtype, trust_remote_code=trust_remote_code)
        with no_progress_bars():
            model, report = _auto_model.from_pretrained(
                folder,
                dtype=dtype,
                use_safetensors=True,
                local_files_only=True,
                trust_remote_code=trust_remote_code,
                output_loading_info=True,
            )
    except _UNREADABLE as error:
        raise ModelError(f"the model in '{folder}' cannot be loaded: {one_line(error)}") from error
    missing = sorted(report["missing_keys"])
    if missing:
        raise ModelError(
            f"the files in '{folder}' lack {len(missing)} weights of the model (first: {missing[0]}), "
            "which would be random: the checkpoint is incomplete or belongs to another architecture"
        )
    loaded: PreTrainedModel = model
    return loaded


def load_tokenizer(folder: Path, *, trust_remote_code: bool = False) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a folder, and see that it encodes as its tokenizer.json says.

    Where transformers' choice of class does not, the plain class that reads that file is taken.
    """
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=trust_remote_code
        )
        expected = _encodings_in_file(folder / "tokenizer.json")
        if expected and _encodings(tokenizer, expected) != expected:
            plain = PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
            _log.warning("%s disagrees with tokenizer.json in '%s': read plainly", type(tokenizer).__name__, folder)
            tokenizer = plain
    except _UNREADABLE as error:
        raise ModelError(f"the tokenizer in '{folder}' cannot be loaded: {one_line(error)}") from error
    if expected and _encodings(tokenizer, expected) != expected:
        raise ModelError(f"the tokenizer in '{folder}' encodes otherwise than its tokenizer.json: save it again")
    if not any(_encodings(tokenizer, expected or _SAMPLES).values()):
        raise ModelError(f"the tokenizer in '{folder}' encodes every sample text to nothing: its files do not fit")
    return tokenizer


def _encodings(tokenizer: PreTrainedTokenizerBase, texts: Iterable[str]) -> dict[str, list[int]]:
    return {text: _ids_or_none(lambda t: tokenizer(t, add_special_tokens=False)["input_ids"], text) for text in texts}


def _encodings_in_file(path: Path) -> dict[str, list[int]]:
    """Return what a tokenizer.json makes of sample texts and of its own words; nothing without such a file."""
    if not path.is_file():
        return {}
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the Rust library raises bare Exception
        raise ModelError(f"'{path}' is no tokenizer file: {one_line(error)}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    vocabulary = tokenizer.get_vocab()
    words = sorted(vocabulary.keys() - special, key=vocabulary.__getitem__)[:50]
    return {
        text: _ids_or_none(lambda t: tokenizer.encode(t, add_special_tokens=False).ids, text)
        for text in (*_SAMPLES, *(f"{word} {word}" for word in words))
    }


def _ids_or_none(encode: Callable[[str], list[int]], text: str) -> list[int]:
    """Return the ids of a text, none where the tokenizer refuses it."""
    try:
        return encode(text)
    except Exception:  # a word list without an unknown token raises bare Exception
        return []


def check_vocabulary(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Raise ModelError when the tokenizer has an id that the model cannot read."""
    largest = max(tokenizer.get_vocab().values())
    if largest >= embedding_rows(model):
        raise ModelError(
            f"the tokenizer's ids go up to {largest}, but the model's embedding has {embedding_rows(model)} rows: "
            "the two do not belong together, or the model needs resize_token_embeddings"
        )


def end_ids(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """Return every id that ends an answer: those of config, generation config and tokenizer together.

    Raises:
        ModelError: There is none, so that every answer would run to its limit.
    """
    sources = (text_config(model), model.config, model.generation_config, tokenizer)
    found: set[int] = set()
    for source in sources:
        value = getattr(source, "eos_token_id", None)
        found.update(value if isinstance(value, list | tuple) else [] if value is None else [value])
    usable = frozenset(token for token in found if 0 <= token < embedding_rows(model))
    if not usable:
        raise ModelError(
            "no end token: neither the model's configs nor its tokenizer name one that the model can draw; "
            "set tokenizer.eos_token to the token that ends an answer"
        )
    return usable


def padding_id(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, eos_ids: frozenset[int]) -> int:
    """Return an id to fill padding with: the tokenizer's or the model's, else an end token."""
    for value in (tokenizer.pad_token_id, getattr(text_config(model), "pad_token_id", None)):
        if isinstance(value, int) and 0 <= value < embedding_rows(model):
            return value
    return min(eos_ids)


@contextmanager
def no_progress_bars() -> Iterator[None]:
    """Keep transformers' bars off the terminal while a small model is read or written."""
    bars: Any = transformers_logging  # its functions carry no annotations
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            bars.enable_progress_bar()
