"""`grpo-gym chat RUN_OR_MODEL`: ask a policy and see its answer as it is drawn.

A terminal gets a conversation. From a pipe each line is a question of its own, and its answer goes to standard output;
whatever else there is to say goes to standard error. What a policy writes is shown, never obeyed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from grpo_gym.cli.live import device_line
from grpo_gym.cli.options import need_agents, parse
from grpo_gym.cli.terminal import plain, terminal, warnings_on_stderr
from grpo_gym.errors import GrpoGymError, InvalidValueError
from grpo_gym.printing import visible

if TYPE_CHECKING:
    from grpo_agents.chat import Chat
    from grpo_agents.source import Source

COMMANDS = "/new begins a new conversation, /system TEXT tells the policy who it is, /quit ends; Ctrl-C stops an answer"


@dataclass(frozen=True)
class Options:
    """Ask a policy: in a conversation, line by line from a pipe, or once with --prompt."""

    what: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN_OR_MODEL")]
    """A run folder, a policy folder, a Hugging Face name, or "embedded"."""
    prompt: str | None = None
    """One question; its answer is printed, and that is all."""
    greedy: bool = False
    """Take the most likely token instead of sampling."""
    temperature: float | None = None
    """Logits are divided by this; none: as in the run, for a model as its own files say, else 1."""
    max_tokens: int | None = None
    """Tokens of an answer at most; none: as in the run, for a model as its own files say, else the default of train."""
    seed: int | None = None
    """Draws the answers; none: others each time."""
    system_prompt: str | None = None
    """Put before every conversation; none: the run's own."""
    step: int | Literal["best"] | None = None
    """Which checkpoint of a run, "best" for that of the best validation score; none: the newest, which eval scores."""
    device: str = "auto"
    """auto (CUDA when there is one), cpu, cuda, cuda:1 ..."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Type of the weights; auto takes float32 on a CPU and bfloat16 elsewhere."""
    threads: int = 0
    """CPU threads; 0 takes one for policies under 10 M parameters and PyTorch's choice for others."""


def run(arguments: list[str]) -> int:
    """Load, then answer: one prompt, the lines of a pipe, or a person."""
    options = parse(Options, "chat", arguments)
    if options.prompt is None and sys.stdin is None:
        raise InvalidValueError("standard input is closed, so there is no question: give one with --prompt")
    need_agents("chat")
    with warnings_on_stderr():
        chat, source = _start(options)
        if options.prompt is not None:
            return _answer_all(chat, [options.prompt])
        if not sys.stdin.isatty():
            return _answer_all(chat, sys.stdin)
        _introduce(chat, source, options)
        _talk(chat)
    return 0


def _start(options: Options) -> tuple[Chat, Source]:
    """Return the conversation and where its policy comes from."""
    import torch

    from grpo_agents.chat import Chat
    from grpo_agents.evaluate import check_finite
    from grpo_agents.source import find_source, sampling_of
    from grpo_agents.train import load_policy

    if options.seed is not None and options.seed < 0:
        raise InvalidValueError(f"--seed is {options.seed}, must be at least 0")
    source = find_source(options.what, options.step)
    changes: dict[str, Any] = {"device": options.device, "dtype": options.dtype, "threads": options.threads}
    if options.system_prompt is not None:
        changes["system_prompt"] = options.system_prompt
    policy = load_policy(dataclasses.replace(source.config, **changes), source.folder)
    check_finite(policy)
    sampling = sampling_of(source, policy)
    asked: dict[str, Any] = {"temperature": options.temperature, "max_tokens": options.max_tokens}
    sampling = dataclasses.replace(sampling, **{name: value for name, value in asked.items() if value is not None})
    _check(sampling.temperature, sampling.max_tokens)
    generator = torch.Generator()
    generator.seed() if options.seed is None else generator.manual_seed(options.seed)
    return Chat(policy, sampling, greedy=options.greedy, generator=generator), source


def _check(temperature: float, max_tokens: int) -> None:
    if not temperature > 0:
        raise InvalidValueError(f"--temperature is {temperature}, must be above 0; for the likeliest tokens: --greedy")
    if max_tokens < 1:
        raise InvalidValueError(f"--max-tokens is {max_tokens}, must be at least 1")


def _answer_all(chat: Chat, questions: Iterable[str]) -> int:
    """Answer each question in a conversation of its own; empty lines ask nothing. Returns 2 if one had no answer."""
    code = 0
    for number, line in enumerate(questions, 1):
        question = line.rstrip("\r\n")
        if not question.strip():
            continue
        chat.begin()
        try:
            _answer(chat, question)
        except GrpoGymError as error:
            sys.stderr.write(f"error: question {number}: {visible(str(error))}\n")
            code = 2
            continue
        if chat.cut:
            sys.stderr.write(f"question {number}: {_why_cut(chat)}\n")
    return code


def _talk(chat: Chat) -> None:
    """Answer a person until they leave."""
    with contextlib.suppress(ImportError):
        importlib.import_module("readline")  # arrow keys in input()
    screen = terminal()
    while True:
        try:
            line = input("> ").strip()
        except EOFError:
            screen.print()
            return
        except KeyboardInterrupt:
            screen.print(plain("\n/quit or Ctrl-D ends", "dim"))
            continue
        if line == "/quit":
            return
        try:
            _obey_or_answer(chat, line)
        except KeyboardInterrupt:
            screen.print(plain("\nstopped", "dim"))
        except GrpoGymError as error:
            screen.print(plain(f"{error}{' (/new)' if chat.trajectory else ''}", "yellow"))


def _obey_or_answer(chat: Chat, line: str) -> None:
    """Do what a line from a person asks for."""
    word, _, rest = line.partition(" ")
    screen = terminal()
    if not line:
        return
    if word == "/new":
        chat.begin()
    elif word == "/system":
        chat.instruct(rest.strip() or None)
    elif word.startswith("/") and word[1:].isalpha():
        screen.print(plain(f"no command {word}: {COMMANDS}", "yellow"))
    else:
        _answer(chat, line)
        if chat.cut:
            screen.print(plain(_why_cut(chat), "dim"))


def _answer(chat: Chat, question: str) -> None:
    """Print an answer as it is drawn, and end its line."""
    with contextlib.closing(chat.say(question)) as pieces:
        for piece in pieces:
            sys.stdout.write(visible(piece))
            sys.stdout.flush()
    sys.stdout.write("\n")
    sys.stdout.flush()


def _why_cut(chat: Chat) -> str:
    if chat.full:
        return f"cut: the model's context of {chat.policy.context} tokens is full"
    return f"cut at {chat.sampling.max_tokens} tokens: --max-tokens allows more"


def _introduce(chat: Chat, source: Source, options: Options) -> None:
    """Say who answers, and how."""
    from grpo_agents.quantised import is_quantised
    from grpo_agents.train import describe

    facts = describe(chat.policy)
    bits = ", 8-bit weights" if is_quantised(chat.policy.model) else ""
    draws = "greedy" if chat.greedy else f"temperature {chat.sampling.temperature:g}"
    lines = [
        ("policy", f"{source.folder or options.what}, {facts['parameters']:,} parameters, {facts['dtype']}{bits}"),
        ("device", device_line(facts, options.device)),
        ("answers", f"{draws}, at most {chat.sampling.max_tokens} tokens, {facts['prompt_style']} prompts"),
    ]
    if source.run is not None:
        best = f"; the best by validation is {source.best}" if source.best not in (None, source.step) else ""
        lines.insert(1, ("checkpoint", f"step {source.step}{best}"))
    screen = terminal()
    for name, value in lines:
        screen.print(plain(f"{name:<12}", "dim").append_text(plain(value)))
    screen.print(plain(COMMANDS, "dim"))
