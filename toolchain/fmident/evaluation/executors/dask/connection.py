"""Finding a scheduler, and whether its workers can do the work."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fmident.errors import Diagnostic, EstimationError, Location

if TYPE_CHECKING:
    from distributed import Client

CONNECT_SECONDS = 5.0
"""A scheduler that does not answer within this time is taken for unreachable."""

_PACKAGE = "fmident"
_NAMED = 3


class Patience:
    """Bears with trouble that may pass, tells of it once, and gives up after a while.

    Parameters
    ----------
    limit
        Seconds.
    report
        Takes the warning.
    """

    QUIET = 2.0
    """Trouble shorter than this is not told of, s."""

    def __init__(self, limit: float, report: Callable[[Diagnostic], None]) -> None:
        self._limit = limit
        self._report = report
        self._since: float | None = None
        self._told = False

    def trouble(self, message: str, hint: str) -> None:
        """Take note of trouble.

        Raises
        ------
        fmident.errors.EstimationError
            It has lasted too long.
        """
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        lasted = now - self._since
        if lasted >= self._limit:
            raise EstimationError(f"{message}, for {lasted:.0f} s now", hint=hint)
        if lasted >= self.QUIET and not self._told:
            self._told = True
            waiting = f"{message}; waiting {self._limit:.0f} s at most"
            self._report(Diagnostic("warning", waiting, hint=hint))

    def fine(self) -> None:
        """Take note that there is no trouble any more."""
        self._since = None
        self._told = False


def require_distributed(place: Location | None) -> None:
    """Refuse to go on without the package ``distributed``.

    Raises
    ------
    fmident.errors.EstimationError
        It is not installed.
    """
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise EstimationError(
            f"executor = \"dask\" needs the package 'distributed', which cannot be imported: {error}",
            location=place,
            hint="pip install 'fmident[dask]', or choose executor = \"processes\"",
        ) from error


def connect(
    address: str,
    place: Location | None,
    *,
    timeout: float = CONNECT_SECONDS,
    direct: bool = False,
) -> Client:
    """Return a client of the scheduler.

    Parameters
    ----------
    address
        Such as ``"tcp://10.0.0.1:8786"``.
    place
        Of the address in the problem file.
    timeout
        Seconds.
    direct
        Fetch results from the workers, not through the scheduler.

    Raises
    ------
    fmident.errors.EstimationError
        No scheduler answers there.
    """
    from distributed import Client

    try:
        return Client(
            address, timeout=timeout, set_as_default=False, name=_PACKAGE, direct_to_workers=direct
        )
    except (OSError, ValueError, TypeError, KeyError) as error:
        # An unknown protocol is a ValueError or a KeyError, according to its form.
        said = str(error).strip().splitlines()
        reason = f": {said[0]}" if said else ""
        raise EstimationError(
            f"no Dask scheduler answers at '{address}' within {timeout:g} s{reason}",
            location=place,
            hint="start one with 'dask scheduler' and give the address that it prints, "
            "such as tcp://10.0.0.1:8786; is a firewall between?",
        ) from error


def ask_versions(client: Client) -> dict[str, Any]:
    """Return the versions of Python and fmident here, at the scheduler, and at each worker."""
    versions: dict[str, Any] = client.get_versions(packages=[_PACKAGE])
    return versions


def check_versions(versions: Mapping[str, Any], place: Location | None = None) -> None:
    """Compare Python and fmident of the workers with those of this process.

    Parameters
    ----------
    versions
        From :func:`ask_versions`.
    place
        Of the scheduler's address in the problem file.

    Raises
    ------
    fmident.errors.EstimationError
        A worker has other versions; the message names it and them.
    """
    here = versions["client"]
    wrong: list[str] = []
    advice: list[str] = []
    for worker, there in sorted(versions["workers"].items()):
        if not isinstance(there, Mapping):
            continue  # the worker is just leaving
        for what, own, other in (
            ("Python", _python(here), _python(there)),
            (_PACKAGE, here["packages"].get(_PACKAGE), there["packages"].get(_PACKAGE)),
        ):
            if own == other:
                continue
            has = f"{what} {other}" if other else f"no {what}"
            wrong.append(f"worker {worker} has {has}, this process {what} {own}")
            advice.append(
                f"pip install 'fmident[dask]=={own}' where the workers run"
                if what == _PACKAGE
                else f"start the workers with Python {own}"
            )
    if wrong:
        more = f"; and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
        raise EstimationError(
            "the workers of the cluster do not fit: " + "; ".join(wrong[:_NAMED]) + more,
            location=place,
            hint="; ".join(dict.fromkeys(advice)) + "; then start them again",
        )


def _python(versions: Mapping[str, Any]) -> str:
    """Return major and minor version: what pickled objects and compiled code depend on."""
    return ".".join(str(versions["packages"]["python"]).split(".")[:2])
