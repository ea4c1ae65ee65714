"""Connecting to a scheduler and checking whether its workers are usable."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import distributed
from distributed import Client

from fmident import __version__
from fmident.errors import Code, Diagnostic, EstimationError, Location
from fmident_dask.worker import version

CONNECT_SECONDS = 5.0
"""A scheduler that does not answer within this time is taken for unreachable."""

_PACKAGE = "fmident"
_NAMED = 3
_ADDRESS = re.compile(
    r"((tcp|tls|ucx|ws|wss)://)?(\[[^]\s]+\]|[^]\[:/\s]+):[0-9]{1,5}|inproc://\S+"
)


class TroubleTimeout:
    """Tolerates trouble that may pass, reports it once, and gives up after `limit` seconds."""

    QUIET = 2.0
    """Trouble shorter than this is not reported, s."""

    def __init__(self, limit: float, report: Callable[[Diagnostic], None]) -> None:
        self._limit = limit
        self._report = report
        self._since: float | None = None
        self._told = False

    def trouble(self, message: str, hint: str) -> None:
        """Record trouble; raises `EstimationError` when it has lasted too long."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        lasted = now - self._since
        # Said before it is given up, too: looks may be farther apart than the limit is away.
        if lasted >= self.QUIET and not self._told:
            self._told = True
            waiting = f"{message}; waiting {self._limit:.0f} s at most"
            self._report(Diagnostic("warning", waiting, hint=hint))
        if lasted >= self._limit:
            raise EstimationError(
                f"{message}, for {lasted:.0f} s now", hint=hint, code=Code.EXECUTOR_LOST
            )

    def fine(self) -> None:
        """Record that there is no trouble any longer."""
        self._since = None
        self._told = False


def connect(
    address: str,
    place: Location | None,
    *,
    timeout: float | None = None,
    direct: bool = False,
) -> Client:
    """Return a client of the scheduler at an address such as ``"tcp://10.0.0.1:8786"``.

    `place` is where the problem file sets the address, `timeout` is in seconds
    (:data:`CONNECT_SECONDS` by default). With `direct`, results come from the workers, not
    through the scheduler. Raises `EstimationError` if no scheduler answers.
    """
    if not _ADDRESS.fullmatch(address):
        # A client of Dask would wait, and complain of itself when it is thrown away.
        raise EstimationError(
            f"'{address}' is not an address of a Dask scheduler",
            location=place,
            hint="it consists of protocol, host and port, such as tcp://10.0.0.1:8786; "
            "'dask scheduler' prints its own when it starts",
        )
    timeout = CONNECT_SECONDS if timeout is None else timeout
    try:
        client: Client = distributed.Client(
            address, timeout=timeout, set_as_default=False, name=_PACKAGE, direct_to_workers=direct
        )
    except (OSError, ValueError, TypeError, KeyError) as error:
        # An unknown protocol is a ValueError or a KeyError, according to its form.
        messages = str(error).strip().splitlines()
        reason = f": {messages[0]}" if messages else ""
        raise EstimationError(
            f"no Dask scheduler answers at '{address}' within {timeout:g} s{reason}",
            location=place,
            hint="start one with 'dask scheduler' and give the address that it prints, "
            "such as tcp://10.0.0.1:8786; is a firewall between?",
        ) from error
    return client


def check_workers(client: Client, place: Location | None = None) -> None:
    """Compare the versions of all workers with those of this process.

    `place` is where the problem file sets the scheduler's address. Raises `EstimationError`
    for a worker with another Python or fmident, or without fmident.
    """
    # This works for workers that have neither fmident nor a Python that could read its objects.
    versions: Any = client.get_versions(packages=[_PACKAGE])
    check_versions(versions, place)
    # A worker that leaves or comes now is dealt with when it answers to its first chunk.
    for worker, answer in client.run(version, on_error="return").items():
        if isinstance(answer, OSError):
            continue
        if isinstance(answer, BaseException):
            # What cannot be imported there arrives as a bare exception with the words of another.
            raise _misfit([f"worker {worker} cannot load fmident {__version__}: {answer}"], place)
        if answer != __version__:
            raise _misfit([_differs(worker, _PACKAGE, answer, __version__)], place)


def check_versions(versions: Mapping[str, Any], place: Location | None = None) -> None:
    """Compare Python and fmident of the workers with those of this process.

    `versions` is what ``Client.get_versions`` returns. Raises `EstimationError` with the
    name and versions of a worker that differs.
    """
    here = versions["client"]
    wrong: list[str] = []
    for worker, there in sorted(versions["workers"].items()):
        if not isinstance(there, Mapping):
            continue  # the worker is just leaving
        for what, own, other in (
            ("Python", _python(here), _python(there)),
            (_PACKAGE, here["packages"].get(_PACKAGE), there["packages"].get(_PACKAGE)),
        ):
            if own != other:
                wrong.append(_differs(worker, what, other, own))
    if wrong:
        raise _misfit(wrong, place)


def _differs(worker: str, what: str, there: str | None, here: str) -> str:
    has = f"{what} {there}" if there else f"no {what}"
    return f"worker {worker} has {has}, this process {what} {here}"


def _misfit(wrong: Sequence[str], place: Location | None) -> EstimationError:
    more = f"; and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
    python = ".".join(str(number) for number in sys.version_info[:2])
    return EstimationError(
        "the workers of the cluster do not fit: " + "; ".join(wrong[:_NAMED]) + more,
        location=place,
        hint=f"where the workers run: Python {python}, pip install "
        f"'fmident[dask]=={__version__}'; then start them again",
    )


def _python(versions: Mapping[str, Any]) -> str:
    """Return the major and minor version, on which pickled objects and machine code depend."""
    return ".".join(str(versions["packages"]["python"]).split(".")[:2])
