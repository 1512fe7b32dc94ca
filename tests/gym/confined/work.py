"""What a scorer may do, and must still be able to do."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import subprocess
import tempfile
import threading
from pathlib import Path

from tests.gym.confined import deed


@deed
def files_in_scratch(s):
    with tempfile.TemporaryDirectory() as folder:
        one = Path(folder, "one")
        one.write_text("x")
        os.rename(one, Path(folder, "two"))
        with Path(folder, "two").open("r+") as file:
            file.truncate(0)
        Path(folder, "sub").mkdir()
        os.symlink("two", Path(folder, "three"))
        assert Path(folder, "three").read_text() == ""
    assert Path(tempfile.gettempdir()) == Path.cwd() == Path(s.scratch)


@deed
def reading_outside(s):
    assert Path(s.outside, "mode").read_text() == "kept"
    assert Path(__file__).exists() or not s.root


@deed
def the_null_device(s):
    with open(os.devnull, "w") as nowhere:
        nowhere.write("x")
    assert os.urandom(4)


@deed
def threads(s):
    heard: list[int] = []
    workers = [threading.Thread(target=heard.append, args=(n,)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(heard) == 4


@deed
def child_processes(s):
    assert subprocess.run(["/bin/echo", "hello"], capture_output=True, text=True).stdout == "hello\n"
    child = os.fork()
    if child == 0:
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@deed
def ended_child_processes(s):
    if s.tier == "old":
        return  # there, no process may signal another
    try:
        subprocess.run(["/bin/sleep", "60"], timeout=0.05)
    except subprocess.TimeoutExpired:
        return


@deed
def pipes_between_processes(s):
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=theirs.send, args=("hello",))
    process.start()
    assert ours.recv() == "hello"
    process.join()


@deed
def queues_between_processes(s):
    if s.tier == "full":  # semaphores live in /dev/shm, which must be private
        queue = multiprocessing.get_context("fork").Queue()
        queue.put(3)
        assert queue.get(timeout=20) == 3


@deed
def an_event_loop(s):
    assert asyncio.run(asyncio.sleep(0.001, 5)) == 5


@deed
def its_own_dice(s):
    assert random.random() == s.dice


@deed
def some_memory(s):
    assert len(bytearray(256 << 20)) == 256 << 20
