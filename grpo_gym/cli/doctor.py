"""`grpo-gym doctor`: what works on this machine. `--sandbox` asks one question: can foreign code be closed in here?"""

from __future__ import annotations

import importlib.metadata
import os
import platform
from dataclasses import dataclass

from grpo_gym import __version__
from grpo_gym.cli.options import parse
from grpo_gym.cli.terminal import grid, plain, terminal

PACKAGES = ("gymnasium", "numpy", "sympy", "torch", "transformers", "tokenizers", "safetensors", "datasets")

Finding = tuple[bool | None, str, str]
"""Whether it is well (None: neither), what, and what was found."""


@dataclass(frozen=True)
class Options:
    """Show what works on this machine: versions, the devices that training would use, how code is closed in."""

    sandbox: bool = False
    """Only how solutions are closed in, tier by tier; exit code 1 when they cannot be isolated."""


def run(arguments: list[str]) -> int:
    """Print what was found; return 1 when solutions cannot be isolated."""
    options = parse(Options, "doctor", arguments)
    sandbox = _tiers()
    findings = sandbox if options.sandbox else [*_versions(), *_devices(), *sandbox]
    table = grid(("", "what", "found"))
    for well, what, found in findings:
        word, style = {True: ("ok", "green"), False: ("no", "bold red"), None: ("", "")}[well]
        table.add_row(plain(word, style), plain(what), plain(found))
    terminal().print(table)
    return 0 if sandbox[-1][0] else 1


def _versions() -> list[Finding]:
    findings: list[Finding] = [
        (None, "grpo-gym", __version__),
        (None, "Python", f"{platform.python_version()} on {platform.system()} {platform.release()}"),
    ]
    for name in PACKAGES:
        try:
            findings.append((None, name, importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            findings.append((None, name, "not installed"))
    return findings


def _devices() -> list[Finding]:
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    findings: list[Finding] = [(None, "CPUs", str(cpus))]
    try:
        import torch
    except ImportError:
        return [*findings, (False, "training", "needs torch: pip install 'grpo-gym[agent]'")]
    if not torch.cuda.is_available():
        return [*findings, (None, "CUDA", "no device")]
    for number in range(torch.cuda.device_count()):
        device = torch.cuda.get_device_properties(number)
        findings.append((True, f"CUDA {number}", f"{device.name}, {device.total_memory / 2**30:.0f} GiB"))
    return findings


def _tiers() -> list[Finding]:
    """Return a line for each tier, and last the one that is used."""
    from grpo_rewards.code import NotIsolatedError, isolation

    findings: list[Finding] = []
    for tier in ("namespaces", "landlock"):
        try:
            findings.append((True, f"sandbox: {tier}", isolation(tier).found))
        except NotIsolatedError as error:
            findings.append((False, f"sandbox: {tier}", str(error)))
    try:
        findings.append((True, "solutions run", str(isolation())))
    except NotIsolatedError as error:
        findings.append((False, "solutions run", str(error)))
    return findings
