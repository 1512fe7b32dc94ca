"""From a name to a folder with a model: a folder, else the local Hugging Face cache, else the hub, which it announces.

Loading by name through transformers may wait for minutes on a network that is not there. Here the folder is found first
and everything else reads files only; the hub is asked once, within seconds, and a failure is one line that says what
to do.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from huggingface_hub import HfApi, constants, snapshot_download, try_to_load_from_cache
from huggingface_hub.errors import HFValidationError

from grpo_agents.config import EMBEDDED
from grpo_agents.embedded import FOLDER
from grpo_gym.errors import ModelError

T = TypeVar("T")
HUB_WAIT_S = 6.0  # seconds until a silent hub counts as unreachable
_log = logging.getLogger(__name__)
_FILES = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]  # no pickles
_WAY_OUT = "give the folder of a model (config.json, *.safetensors, tokenizer), or download it first"


def find_folder(name: str | Path, *, trust_remote_code: bool = False, ask_hub: bool = True) -> Path:
    """Return the folder that holds the model, or the adapter, `name`.

    Args:
        name: "embedded" for the shipped policy, a folder, or a hub id such as "org/model".
        trust_remote_code: Also download the model's own Python files.
        ask_hub: Whether a name that is not in the local cache may be downloaded.

    Raises:
        ModelError: No such folder, and not to be had from cache or hub.
    """
    if name == EMBEDDED:
        return _shipped()
    folder = Path(name).expanduser()
    if str(name) and folder.is_dir():
        return folder
    nowhere = f"no model folder at '{name}': {_WAY_OUT}"
    if isinstance(name, Path):
        raise ModelError(nowhere)
    for config in ("config.json", "adapter_config.json"):
        try:
            cached = try_to_load_from_cache(name, config)
        except HFValidationError as error:  # a path, which no hub id looks like
            raise ModelError(nowhere) from error
        if isinstance(cached, str) and any(Path(cached).parent.glob("*.safetensors")):
            return Path(cached).parent
    if not ask_hub:
        raise ModelError(f"'{name}' is no folder here and not in the local cache: {_WAY_OUT}")
    if _offline():
        raise ModelError(f"'{name}' is no folder, not in the local cache, and the hub is switched off: {_WAY_OUT}")
    return _download(name, [*_FILES, "*.py"] if trust_remote_code else _FILES)


def _shipped() -> Path:
    if not (FOLDER / "config.json").exists():
        raise ModelError(
            f"the shipped policy is missing from {FOLDER}: reinstall grpo-gym, or name a model with --model"
        )
    return FOLDER


def one_line(error: BaseException) -> str:
    """Return what an error says, on one line of bounded length."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 500 else text[:497] + "..."


def _offline() -> bool:
    """Whether Hugging Face's own switches forbid the network, also when set after its import."""
    switches = (os.environ.get(key, "") for key in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"))
    return constants.is_offline_mode() or any(switch.upper() in ("1", "ON", "YES", "TRUE") for switch in switches)


def _download(name: str, patterns: list[str]) -> Path:
    _log.warning("'%s' is no folder and not in the local cache: asking the hub at %s", name, constants.ENDPOINT)
    try:
        within(HUB_WAIT_S, lambda: HfApi(endpoint=constants.ENDPOINT).model_info(name, timeout=HUB_WAIT_S))
        return Path(snapshot_download(name, allow_patterns=patterns))
    except Exception as error:  # any client error has the same way out, and its types change with the client's version
        raise ModelError(
            f"'{name}' is no folder, and the hub did not give it ({one_line(error)}): {_WAY_OUT}"
        ) from error


def within(seconds: float, call: Callable[[], T]) -> T:
    """Return `call()`, or raise TimeoutError after `seconds`: a name look-up has no time limit of its own."""
    results: list[T] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            results.append(call())
        except Exception as error:  # handed to the caller's thread
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError(f"no answer within {seconds:g} s")
    return results[0]
