"""What hostile programs would like to reach: a folder with a secret and a victim, a home, services that listen.

Everything lies in one new folder, so that several canaries live side by side, and no mode of a file protects it: only
what closes a program in does. `harm` says what a program did to it.
"""

import contextlib
import os
import shutil
import socket
import sysconfig
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

SECRET = "hf_canary5520417"
ENVIRONMENT = "CANARY_TOKEN"
TEMPORARY = "temporary"
"""Name of the folder in which everything temporary is made as long as the canary lives."""

_CONTENT, _MODE, _TIME = "the victim's content\n", 0o666, 1_000_000_000


class Canary:
    """One canary.

    Attributes:
        tokens: Token that programs are written with -> what stands for it here.
        visits: Services that somebody reached.
    """

    def __init__(self, folder: Path, home: Path, tokens: dict[str, str]) -> None:
        self.folder, self.home, self.tokens = folder, home, tokens
        self.visits: list[str] = []
        self._victim = folder / "victim.txt"
        for place in (folder / "secret.txt", home / ".cache" / "huggingface" / "token"):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(SECRET)
        for place in (folder, home, folder / TEMPORARY):
            place.mkdir(exist_ok=True)
            place.chmod(0o777)
        self.restore()

    def restore(self) -> None:
        """Put back what a program may have spoilt."""
        self._victim.write_text(_CONTENT)
        self._victim.chmod(_MODE)
        (self.folder / "moved.txt").touch()
        os.utime(self._victim, (_TIME, _TIME))

    def harm(self, must_not: str) -> list[str]:
        """Return the conditions of a row that do not hold: `exist:PATH`, `changed:PATH`, ... separated by ";"."""
        return [condition for condition in must_not.split(";") if self._happened(*condition.partition(":")[::2])]

    def _happened(self, what: str, where: str) -> bool:
        path = Path(where)
        if what == "exist":
            return os.path.lexists(path)
        if what == "missing":
            return not path.exists()
        if what == "changed":
            return path.read_text() != _CONTENT
        if what == "mode":
            return path.stat().st_mode & 0o7777 != _MODE
        if what == "owner":
            return (path.stat().st_uid, path.stat().st_gid) != (os.getuid(), os.getgid())
        if what == "mtime":
            return path.stat().st_mtime != _TIME
        if what == "xattr":
            return bool(os.listxattr(path))
        return False


@contextlib.contextmanager
def canary(repository: Path) -> Iterator[Canary]:
    """Set a canary up in this process: its home, working and temporary folders are the canary's.

    Args:
        repository: The folder of the code under test, for programs that look for it.
    """
    folder = Path(tempfile.mkdtemp(prefix="canary-"))
    home = folder / "home"
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        stack.enter_context(mock.patch.object(tempfile, "tempdir", str(folder / TEMPORARY)))
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = listener.getsockname()[1]
        os.environ["HOME"] = str(home)
        tokens = {
            "@CANARY@": str(folder), "@HOME@": str(home), "@SECRET@": SECRET, "@PORT@": str(port),
            "@REPOSITORY@": str(repository), "@SITE@": sysconfig.get_path("purelib"),
            "@RUNNER@": "canary.py",
        }  # fmt: skip
        built = Canary(folder, home, tokens)
        os.chdir(folder)
        for name, one in {"tcp": listener, **_others(folder, port)}.items():
            stack.enter_context(one)
            threading.Thread(target=_serve, args=(name, one, built.visits), daemon=True).start()
        yield built


def _others(folder: Path, port: int) -> dict[str, socket.socket]:
    found = {}
    for name, kind, family, address in (
        ("udp", socket.SOCK_DGRAM, socket.AF_INET, ("127.0.0.1", port)),
        ("unix", socket.SOCK_STREAM, socket.AF_UNIX, str(folder / "sock")),
        ("unix datagrams", socket.SOCK_DGRAM, socket.AF_UNIX, str(folder / "dgram")),
        ("abstract", socket.SOCK_STREAM, socket.AF_UNIX, f"\0grpo-canary-{port}"),
    ):
        found[name] = socket.socket(family, kind)
        found[name].bind(address)
        if kind == socket.SOCK_STREAM:
            found[name].listen()
    return found


def _serve(name: str, listener: socket.socket, visits: list[str]) -> None:
    """Note who comes, and answer datagrams."""
    with contextlib.suppress(OSError):  # closed
        while True:
            if listener.type == socket.SOCK_STREAM:
                listener.accept()[0].close()
            else:
                sender = listener.recvfrom(99)[1]
                if sender:
                    listener.sendto(b"heard", sender)
            visits.append(name)
