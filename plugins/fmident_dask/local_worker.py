"""One Dask worker of this machine: ``python -m ...local_worker ADDRESS FOLDER``.

It ends when its standard input is closed, that is, when its parent process has ended.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import sys
import threading
from pathlib import Path
from typing import NoReturn

from distributed import Worker

_LINGER = 3.0
"""Seconds to end in good order."""


async def serve(address: str, folder: str) -> None:
    """Run the worker until the scheduler ends or the standard input is closed."""
    loop, parent = asyncio.get_running_loop(), os.getppid()
    orphaned = asyncio.Event()

    def wait_for_end() -> None:
        os.read(sys.stdin.fileno(), 1)
        loop.call_soon_threadsafe(orphaned.set)

    threading.Thread(target=wait_for_end, daemon=True).start()
    worker = Worker(
        address,
        nthreads=1,
        host="127.0.0.1",
        dashboard=False,
        dashboard_address="127.0.0.1:0",
        memory_limit=0,  # the processes that simulate have the limit of the problem
        local_directory=folder,
        silence_logs=logging.CRITICAL,
    )
    async with worker:
        worker.http_server.stop()
        ends = [asyncio.create_task(orphaned.wait()), asyncio.create_task(worker.finished())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        # A simulation that is still running must not keep the process alive.
        loop.call_later(_LINGER, _leave, folder, parent)
        await worker.close(timeout=_LINGER / 2.0, executor_wait=False)
    _leave(folder, parent)


def _leave(folder: str, parent: int) -> NoReturn:
    alone = os.getppid() != parent  # nobody else will tidy up
    shutil.rmtree(Path(folder).parent if alone else folder, ignore_errors=True)
    os._exit(0)  # whatever thread is still running a simulation


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], sys.argv[2]))
