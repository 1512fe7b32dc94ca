"""Confinement, attacked: as root and as a plain user, with and without namespaces, and as a control without any.

Every attack must succeed without confinement, else its failure would prove nothing.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from grpo_gym.checks.confine import Confinement
from tests.gym.confined import ATTACKS, DEEDS, files, processes, work

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="confinement is made of parts of Linux")

ROOT = Path(__file__).resolve().parents[2]
UNUSED_UID = 64_321
AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
USERS = ["root", "user"] if AS_ROOT else ["user"]
CLOSED = ["full", "plain", "old"]

FILES = {
    "written", "appended", "deleted", "truncated", "emptied", "emptied2", "emptied3", "moved", "linked", "read", "mode",
    "symlinked to",
}  # fmt: skip

assert all((files, processes, work)), "their attempts are in the tables now"


def uid_of(user: str) -> int | None:
    return UNUSED_UID if user == "user" and AS_ROOT else None


class Stage:
    """Folders, listeners and two sleeping processes of a user, for attacks to aim at."""

    def __init__(self, user: str, folder: Path) -> None:
        self.uid = uid_of(user)
        self.folder = folder
        self.outside, self.scratch = folder / "outside", folder / "scratch"
        self.aims: dict[str, Any] = {}

    def own(self, path: Path) -> None:
        if self.uid is not None:
            os.chown(path, self.uid, self.uid)

    def build(self, stack: ExitStack) -> None:
        self.folder.chmod(0o755)
        self.own(self.folder)
        for path in (self.outside, self.scratch, self.outside / "folder"):
            path.mkdir()
            self.own(path)
        for name in FILES:
            (self.outside / name).write_text("kept")
            (self.outside / name).chmod(0o644)
            self.own(self.outside / name)
        as_user: dict[str, Any] = {} if self.uid is None else {"user": self.uid, "group": self.uid, "extra_groups": []}
        for aim in ("victim", "counter"):
            process = subprocess.Popen(
                ["/bin/sleep", "600"],
                env={"A_SECRET": "hidden"},
                start_new_session=True,
                preexec_fn=block_signal if aim == "counter" else None,
                **as_user,
            )
            stack.callback(end, process)
            self.aims[aim] = process.pid
        self._listen(stack)

    def _listen(self, stack: ExitStack) -> None:
        tcp, udp = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        unix, abstract, datagrams = (
            socket.socket(socket.AF_UNIX, kind) for kind in (socket.SOCK_STREAM, socket.SOCK_STREAM, socket.SOCK_DGRAM)
        )
        hidden = f"grpo-gym-test-{os.getpid()}-{id(self)}"
        for listener, address in ((unix, self.folder / "u"), (abstract, "\0" + hidden), (datagrams, self.folder / "d")):
            listener.bind(str(address))
            if isinstance(address, Path):
                self.own(address)
        unix.listen()
        abstract.listen()
        for listener in (tcp, udp, unix, abstract, datagrams):
            stack.enter_context(listener)
        self.aims |= {"tcp": tcp.getsockname()[1], "udp": udp.getsockname()[1], "abstract": hidden}
        self.aims |= {"unix": str(self.folder / "u"), "datagrams": str(self.folder / "d")}

    def attack(self, tier: str) -> dict[str, Any]:
        wanted = {"tier": tier, "uid": self.uid, "outside": str(self.outside), "scratch": str(self.scratch)}
        wanted |= {**self.aims, "starter": os.getpid() if self.uid is None else self.aims["victim"]}
        ran = subprocess.run(
            [sys.executable, "-m", "tests.gym.confined", json.dumps(wanted)],
            cwd=ROOT, capture_output=True, text=True, timeout=120, start_new_session=True,
            env={**os.environ, "A_SECRET": "hidden", "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        result: dict[str, Any] = json.loads(ran.stdout)
        return result


def block_signal() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def played(user: str, tier: str) -> Iterator[tuple[Stage, dict[str, Any]]]:
    folder = Path(tempfile.mkdtemp(prefix="grpo-gym-stage-"))
    try:
        with ExitStack() as stack:
            stage = Stage(user, folder)
            stage.build(stack)
            yield stage, stage.attack(tier)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module", params=USERS)
def control(request):
    yield from played(request.param, "open")


@pytest.fixture(scope="module", params=[(user, tier) for user in USERS for tier in CLOSED], ids="-".join)
def closed(request):
    yield from played(*request.param)


@pytest.mark.parametrize("attack", ATTACKS)
def test_without_confinement_the_attack_succeeds(control, attack):
    assert control[1]["done"][attack] == ""


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_attack_is_refused(closed, attack):
    assert closed[1]["done"][attack] != ""


@pytest.mark.parametrize("deed", DEEDS)
def test_ordinary_work_goes_on(closed, deed):
    assert closed[1]["works"][deed] == ""


def test_nothing_outside_has_changed(closed):
    outside = closed[0].outside
    assert {path.name for path in outside.iterdir()} == {*FILES, "folder"}
    for name in FILES:
        found = (outside / name).stat()
        assert ((outside / name).read_text(), found.st_mode & 0o777) == ("kept", 0o644)
        assert found.st_mtime > 1
    assert {path.name for path in closed[0].folder.iterdir()} == {"outside", "scratch", "u", "d"}


def test_it_says_what_holds(closed):
    tier, isolated, text = closed[1]["confinement"]
    assert isolated
    assert tier.startswith("landlock+seccomp")
    assert text.startswith(f"isolated ({tier})")


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize(
    ("missing", "tier", "told"),
    [
        ("no landlock", "seccomp+namespaces", "Landlock"),
        ("no seccomp", "landlock", "mode of a file outside"),
        ("nothing", "limits only", "a listener on this machine could be reached"),
        ("pretended", "landlock+seccomp", "opened for writing; a file outside could be emptied"),
    ],
)
def test_isolation_is_what_was_seen_and_not_what_was_hoped(user, missing, tier, told):
    for _, result in played(user, missing):
        found, isolated, text = result["confinement"]
        assert (found, isolated) == (tier, False)
        assert text.startswith(f"not isolated ({tier})")
        assert told in text


def test_a_network_without_files_is_no_isolation():
    assert str(Confinement("seccomp", False, "why")) == "not isolated (seccomp): why"


# --- life and death

PREFIX = """
import os, signal, subprocess, sys, threading, time
from pathlib import Path
from grpo_gym.checks import confine as module
from grpo_gym.checks.confine import confine
def refused(*_): raise OSError(1, "not here")
if "plain" in sys.argv: module._enter_namespaces = refused
"""

TIERS = ["namespaces", "plain"]


def program(text: str) -> str:
    return PREFIX + textwrap.dedent(text)


def run(text: str, tier: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program(text), str(folder), tier],
        capture_output=True, text=True, timeout=60, start_new_session=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("sys.exit(0)", 0),
        ("sys.exit(7)", 7),
        ("os._exit(201)", 201),
        ("signal.raise_signal(signal.SIGPROF)", -signal.SIGPROF),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("os.abort()", -signal.SIGABRT),
        ("import ctypes; ctypes.string_at(0)", -signal.SIGSEGV),
        ("signal.setitimer(signal.ITIMER_PROF, 0.05)\nwhile True: pass", -signal.SIGPROF),
    ],
)
def test_the_starter_sees_how_it_ended(tmp_path, tier, how, code):
    assert run(f"confine(Path(sys.argv[1]))\n{how}", tier, tmp_path).returncode == code


@pytest.mark.parametrize("tier", TIERS)
def test_other_threads_are_left_behind_and_do_not_matter(tmp_path, tier):
    text = """
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
        before = os.readlink("/proc/self/ns/user")
        told = confine(Path(sys.argv[1]))
        print(told.isolated, os.readlink("/proc/self/ns/user") != before, threading.active_count())
    """
    ran = run(text, tier, tmp_path)
    assert (ran.stdout, ran.returncode) == (f"True {tier == 'namespaces'} 1\n", 0), ran.stderr


DAEMON = """
    if os.fork() == 0:
        try:
            os.setsid()
        except OSError:
            pass
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
"""


def all_ended(pipe: int) -> bool:
    """Whether all holders of the other end are gone. Waits for it."""
    return bool(select.select([pipe], [], [], 30)[0]) and os.read(pipe, 1) == b""


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("ending", ["by itself", "starter killed", "guard killed", "group killed"])
def test_no_process_outlives_the_end(tmp_path, tier, ending):
    """Every process of the family holds the end of a pipe: when that is closed, all are gone."""
    reading, writing = os.pipe()
    leave = "sys.exit(0)" if ending == "by itself" else "time.sleep(600)"
    confined = PREFIX + "confine(Path(sys.argv[1]))\n" + textwrap.dedent(DAEMON) + f"\nprint(1, flush=True)\n{leave}"
    starter = program(f"""
        child = subprocess.Popen(
            [sys.executable, "-c", {confined!r}, *sys.argv[1:]], pass_fds=[{writing}], stdout=subprocess.PIPE,
            start_new_session=True,
        )
        child.stdout.readline()
        print(child.pid, flush=True)
        sys.stdin.readline()
        {"child.wait()" if ending == "by itself" else ""}
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", starter, str(tmp_path), tier], pass_fds=[writing], start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    os.close(writing)
    assert process.stdout is not None
    assert process.stdin is not None
    with process:
        guard = int(process.stdout.readline())
        if ending == "guard killed" and tier == "plain":
            os.kill(guard, signal.SIGKILL)
            os.killpg(guard, signal.SIGKILL)  # as the starter does it; the group outlives its leader
        elif ending == "guard killed":
            os.kill(guard, signal.SIGKILL)
        elif ending == "group killed":
            os.killpg(guard, signal.SIGKILL)
        process.kill() if ending == "starter killed" else process.stdin.close()
        process.wait(30)
        assert all_ended(reading)
    os.close(reading)


def test_it_lives_on_when_the_thread_that_started_it_ends(tmp_path):
    text = """
        child = []
        def start():
            code = "confine(Path(sys.argv[1])); print(1, flush=True); input(); print(2)"
            child.append(subprocess.Popen([sys.executable, "-c", sys.argv[3] + code, *sys.argv[1:]],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True))
        thread = threading.Thread(target=start); thread.start(); thread.join()
        child[0].stdout.readline()
        print(child[0].communicate("go")[0], child[0].returncode)
    """
    ran = subprocess.run(
        [sys.executable, "-c", program(text), str(tmp_path), "namespaces", PREFIX],
        capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert ran.stdout.split() == ["2", "0"], ran.stderr


def test_elsewhere_than_linux_only_limits_hold(tmp_path):
    text = """
        sys.platform = "darwin"
        process = os.getpid()
        print(confine(Path(sys.argv[1])))
        assert process == os.getpid() and os.getcwd() == os.path.realpath(sys.argv[1])
    """
    ran = run(text, "namespaces", tmp_path)
    assert ran.stdout == "not isolated (limits only): there is no isolation on darwin\n", ran.stderr


def test_a_hostile_write_leaves_the_private_folder_of_semaphores_behind(tmp_path):
    """What is written to /dev/shm by a confined process is not there for others."""
    name = f"grpo-gym-test-{os.getpid()}"
    run(f"confine(Path(sys.argv[1])); Path('/dev/shm/{name}').write_text('x')", "namespaces", tmp_path)
    assert not Path("/dev/shm", name).exists()
