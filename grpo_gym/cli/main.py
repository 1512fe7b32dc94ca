"""The front door: find the command, import only what it needs, and turn errors into one line and an exit code.

Exit codes: 0 done, 1 the reader of a pipe left, 2 a mistake in what was asked, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence

from grpo_gym import __version__
from grpo_gym.errors import GrpoGymError, UnknownNameError
from grpo_gym.printing import visible

COMMANDS = {
    "train": "train a policy with GRPO, tested before and after",
    "sft": "warm-start a policy on an environment's worked solutions",
    "eval": "score a run or a policy on held-out problems",
    "chat": "ask a run or a policy, and see its answer as it is drawn",
    "export": "write a run or a policy as a folder of its own, in 8 bits too",
    "rescore": "score a run's completions again by another reward",
    "play": "answer problems yourself",
    "list": "show the environments",
    "sample": "print problems of an environment",
    "new": "write the first lines of a task of your own",
    "check": "see whether a reward can be fooled",
    "doctor": "show what works on this machine, and how code is closed in",
}

HELP = f"""usage: grpo-gym COMMAND [options]

Text environments with verifiable rewards, and GRPO to train language models on them.

commands:
{chr(10).join(f"  {name:<8} {what}" for name, what in COMMANDS.items())}

options:
  -h, --help   show this message; after a command: its options
  --version    show the version
  --debug      show the traceback of an error (or set GRPO_GYM_DEBUG=1)

start here:
  grpo-gym play grpo/Math-v0
  grpo-gym train
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        argv: The words after the program's name; None takes the process's own.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words or os.environ.get("GRPO_GYM_DEBUG", "") not in ("", "0")
    words = [word for word in words if word != "--debug"]
    _take_any_character()
    try:
        return _dispatch(words)
    except (GrpoGymError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            return _reader_gone()
        if debug:
            raise
        sys.stderr.write(f"error: {visible(' '.join(_sentence(error).split()))}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        return 130
    except SystemExit as stop:  # tyro's way to end after --help (0) and after a mistake (2)
        return stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 2


def _dispatch(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        sys.stdout.write(HELP)
        return 0
    if words[0] == "--version":
        sys.stdout.write(f"grpo-gym {__version__}\n")
        return 0
    command, *arguments = words
    if command not in COMMANDS:
        raise UnknownNameError("command", command, COMMANDS)
    os.environ.setdefault(
        "OMP_WAIT_POLICY", "PASSIVE"
    )  # on a busy machine, spinning threads cost several times the work
    run: Callable[[list[str]], int] = importlib.import_module(f"grpo_gym.cli.{command}").run
    return run(arguments)


def _sentence(error: Exception) -> str:
    """Return what is told of an error: its message, or of one from the system its file and cause in words."""
    if not isinstance(error, OSError) or isinstance(error, GrpoGymError) or not error.strerror:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror


def _take_any_character() -> None:
    """Let no letter that a terminal cannot show, and no byte that is not UTF-8, end a command."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace" if stream is sys.stdin else "backslashreplace")


def _reader_gone() -> int:
    """End quietly, as rich does, when a pipe's reader (`| head`) has left; Python would complain when it flushes."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
