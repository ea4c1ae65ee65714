"""Calling the code of plugins: whatever it raises becomes an error that names it, with its line.

What the machine lacks while a plugin runs is not the plugin's bug: see :func:`plugin_failed`.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fmident.errors import (
    Code,
    FmidentError,
    Location,
    PluginError,
    ResourceError,
    advice_on,
    in_words,
)

PLUGIN_BUG = "this is a bug in the plugin, not in the problem: please report it to its authors"
"""The hint of an error that the code of a plugin has caused."""


def raised_in(error: BaseException, module: str, called: object = None) -> Location:
    """Return where in a module an exception came up, or what it called there.

    Parameters
    ----------
    error
        That was caught.
    module
        Name of the module or package, such as a plugin's. Where the exception did not pass
        through it, the place is that of `called`, else that of the exception itself.
    called
        Function or class of the plugin that could not even be called, such as one that takes
        other arguments.
    """
    place = passed_through(error, module) or defined_at(called)
    if place is not None:
        return place
    frame, line = list(traceback.walk_tb(error.__traceback__))[-1]
    return Location(frame.f_code.co_filename, line)


def passed_through(error: BaseException, module: str) -> Location | None:
    """Return the innermost line of a module or package that an exception passed through, if any.

    Of a file that is not Python, it is the place in that file; of an error of fmident, its own.
    """
    if isinstance(error, FmidentError) and error.location is not None:
        return error.location
    if isinstance(error, SyntaxError) and error.filename is not None:
        return Location(error.filename, error.lineno, error.offset)
    place = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        if _is_in(str(frame.f_globals.get("__name__")), module):
            place = Location(frame.f_code.co_filename, line)
    return place


def _is_in(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def defined_at(called: object) -> Location | None:
    """Return where a function, a method or the ``__init__`` of a class is defined, if known."""
    function = called.__init__ if isinstance(called, type) else called  # type: ignore[misc]
    code = getattr(inspect.unwrap(function) if callable(function) else None, "__code__", None)
    if code is None:
        return None
    return Location(code.co_filename, code.co_firstlineno)


def reason(error: BaseException) -> str:
    """Return what an exception says, in one line."""
    if isinstance(error, FmidentError):
        return error.message
    message = error.msg if isinstance(error, SyntaxError) else error
    return " ".join(f"{type(error).__name__}: {message}".split())


def plugin_failed(
    what: str,
    module: str,
    error: BaseException,
    called: object = None,
    *,
    kind: type[FmidentError] = PluginError,
) -> FmidentError:
    """Return the error that names the plugin whose code has raised `error`.

    It is a :class:`ResourceError` where the machine lacks something.

    Parameters
    ----------
    what
        What was called, such as ``"the estimator 'random-search'"``.
    module, called
        As for :func:`raised_in`.
    error
        What was raised.
    kind
        Class of the error that is returned.
    """
    if advice := advice_on(error):
        return ResourceError(f"{what} cannot go on: {in_words(error)}", hint=advice)
    return kind(
        f"{what} ({module}) failed with {type(error).__name__}: {error}",
        location=raised_in(error, module, called),
        hint=PLUGIN_BUG,
        code=Code.PLUGIN_FAILED,
    )


@contextmanager
def code_of_plugin(
    what: str,
    module: str,
    called: object = None,
    passes: Callable[[BaseException], bool] = lambda error: False,
) -> Iterator[None]:
    """Turn whatever a plugin's code raises inside the block into an error that names it.

    Errors of fmident and Ctrl-C pass as they are. A plugin that calls ``sys.exit`` must not end
    the host without a word.

    Parameters
    ----------
    what, module, called
        As for :func:`plugin_failed`.
    passes
        Whether an exception is not the plugin's, and passes as it is.

    Raises
    ------
    PluginError
        With file and line.
    ResourceError
        The machine lacks something.
    """
    try:
        yield
    except FmidentError:
        raise
    except (Exception, SystemExit) as error:
        if passes(error):
            raise
        raise plugin_failed(what, module, error, called) from error
