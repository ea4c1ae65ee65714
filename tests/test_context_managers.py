"""Ctrl-C at any moment, and threads that wait for each other."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from fmident.context_managers import RecoverableLock

STORM = """
import random, signal, threading
from fmident.context_managers import RecoverableLock

def interrupt(*_):
    raise KeyboardInterrupt

lock, inside, done = RecoverableLock(), [], []

def work():
    with lock:
        inside.append(1)
        inside.pop()

signal.signal(signal.SIGALRM, interrupt)
for _ in range(2000):
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(2e-6, 60e-6))
        while True:
            work()
    except KeyboardInterrupt:
        inside.clear()
signal.signal(signal.SIGALRM, signal.SIG_IGN)
work()
other = threading.Thread(target=lambda: (work(), done.append(1)), daemon=True)
other.start()
other.join(20.0)
print(done)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no timers that send signals")
def test_it_is_free_after_interruptions_at_any_moment() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STORM], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.stderr) == ("[1]\n", "")


def test_one_thread_at_a_time_is_inside() -> None:
    lock, most, inside = RecoverableLock(), [0], [0]

    def work() -> None:
        for _ in range(300):
            with lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]


def test_an_error_in_the_block_gives_it_back_and_passes() -> None:
    lock = RecoverableLock()
    with pytest.raises(LookupError), lock:
        raise LookupError
    taken = []

    def take() -> None:
        with lock:
            taken.append(1)

    other = threading.Thread(target=take)
    other.start()
    other.join()
    assert taken == [1]
