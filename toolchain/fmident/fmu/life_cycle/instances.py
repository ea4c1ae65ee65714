"""Instances that live for one trial only: it leaves nothing in the one that simulates."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable
from typing import Any, TypeVar

from fmident.fmu.life_cycle.instance import BaseInstance, CallFailed
from fmident.fmu.native_code.library import ERROR, FATAL
from fmident.operating_system import in_a_copy

Result = TypeVar("Result")


class TrialInstances:
    """One fresh instance after the other.

    Parameters
    ----------
    make
        Instantiates the FMU.
    """

    def __init__(self, make: Callable[[], BaseInstance]) -> None:
        self._make = make
        self._instance: BaseInstance | None = None

    @property
    def instance(self) -> BaseInstance:
        """The present one."""
        assert self._instance is not None, "a trial begins with a new instance"
        return self._instance

    def renew(self) -> BaseInstance:
        """Free the present instance and return a new one."""
        self.free()
        self._instance = self._make()
        return self._instance

    def free(self, status: int = 0) -> None:
        """Free the present instance, if there is one; after Fatal, FMI forbids even that."""
        instance, self._instance = self._instance, None
        if instance is None:
            return
        if status == FATAL:
            instance.abandon()
            return
        if status == 0:
            with contextlib.suppress(CallFailed):
                instance.terminate()
        instance.free()


def directly(work: Callable[[], Result]) -> Result:
    """Call `work` in this process."""
    return work()


def forked(work: Callable[[], Result]) -> Result:
    """Call `work` in a copy of this process, and return its result.

    The FMU must not be instantiated here: then it is so for the first time in the copy, however
    often this is called. Only for processes that have one thread.

    Raises
    ------
    CallFailed
        `work` has raised it, or the copy has died.
    """
    content = in_a_copy(lambda: _answer(work))
    if not content:
        raise CallFailed("a trial step", ERROR, "it ended the process")
    good, found = pickle.loads(content)
    if not good:
        raise CallFailed(*found)
    result: Result = found
    return result


def _answer(work: Callable[[], Any]) -> bytes:
    """Return what `work` finds, to be read by :func:`forked`."""
    try:
        return pickle.dumps((True, work()))
    except CallFailed as failed:
        return pickle.dumps((False, (failed.function, failed.status, failed.detail)))
