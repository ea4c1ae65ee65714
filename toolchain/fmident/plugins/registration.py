"""What a plugin may register: what could not be used later is refused at once."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from typing import Any, ClassVar, get_origin

from fmident.errors import PluginError
from fmident.options import types_of
from fmident.toml_file.options import is_readable

_BASES = {
    "estimator": ("fmident.estimation.contract", "Estimator"),
    "cost": ("fmident.problem.cost", "Cost"),
    "executor": ("fmident.evaluation.executors.kind", "ExecutorKind"),
    "compiler": ("fmident.compilers.base", "Compiler"),
    "reporter": ("fmident.report.contract", "Reporter"),
}
"""What plugins register by ``fmident_register_...s``: the base class of each kind, or the class of
its descriptions; imported only when a plugin brings such a thing."""

_NOT_OPTIONS = frozenset({"name", "summary", "gives_intervals", "by_sample"})
"""What a cost says of itself as a class."""


def check_item(kind: str, name: str, item: object) -> None:
    """Refuse what the host could not use later.

    Parameters
    ----------
    kind, name, item
        What is registered: the noun of its kind, its name, and the thing.

    Raises
    ------
    fmident.errors.PluginError
        It is not a class, not of the base class of its kind, lacks methods or cannot be made
        without arguments; an executor is not described; an option cannot be read from a file.
    """
    module, base_name = _BASES[kind]
    what = f"the {kind} '{name}'"
    base = getattr(importlib.import_module(module), base_name)
    if kind == "executor":
        if not isinstance(item, base):
            raise PluginError(f"{what} is {item!r}", hint=f"register an {module}.{base_name}")
        check_fields(item.options_type, what)
        return
    if not isinstance(item, type):
        raise PluginError(f"{what} is {item!r}", hint="register the class, not an instance")
    if not issubclass(item, base):
        raise PluginError(
            f"{what} is not a subclass of {module}.{base_name}", hint="derive it from that"
        )
    lacking = sorted(getattr(item, "__abstractmethods__", ()))
    if lacking:
        methods = ", ".join(f"'{method}'" for method in lacking)
        raise PluginError(f"{what} lacks {methods}", hint=f"see {module}.{base_name}")
    if kind in ("estimator", "cost"):
        _check_name(name, item, what, alike=kind == "estimator")
    if kind == "estimator":
        check_fields(_options_type(item, what), what)
    if kind == "cost":
        _check_is_dataclass(item, what)
        check_fields(item, what)
    if kind in ("estimator", "compiler", "reporter"):
        _check_makeable(item, what)


def _check_name(name: str, item: type[Any], what: str, *, alike: bool) -> None:
    """Refuse a class without a name, or with another one where results would contain it.

    Raises
    ------
    fmident.errors.PluginError
        There is no name, or it is not that of the registration.
    """
    own = getattr(item, "name", None)
    if not isinstance(own, str) or not own or (alike and own != name):
        raise PluginError(
            f"{what}: its class {item.__name__} "
            + ("has no name" if own is None else f"is called {own!r}"),
            hint=f'write name = "{name}" into the class',
        )


def _options_type(item: type[Any], what: str) -> type[Any]:
    """Return the options of an estimator; refuse one whose options cannot be read from a table.

    Raises
    ------
    fmident.errors.PluginError
        They are not a dataclass.
    """
    options = getattr(item, "options_type", None)
    if not (isinstance(options, type) and dataclasses.is_dataclass(options)):
        raise PluginError(
            f"{what}: its class {item.__name__} has no dataclass as options_type",
            hint="make it a frozen dataclass: its fields are the keys of the [estimator] table",
        )
    return options


def _check_is_dataclass(item: type[Any], what: str) -> None:
    """Refuse a cost with annotated fields that are not options, for want of ``@dataclass``.

    Raises
    ------
    fmident.errors.PluginError
        Naming class and field.
    """
    annotated = [
        name
        for name, hint in inspect.get_annotations(item).items()
        if not (name.startswith("_") or name in _NOT_OPTIONS or _is_class_variable(hint))
    ]
    if annotated and "__dataclass_fields__" not in vars(item):
        raise PluginError(
            f"{what}: its class {item.__name__} has the field '{annotated[0]}', but is not a "
            "dataclass, so that it has no options",
            hint="put @dataclass(frozen=True) above the class, or annotate it as ClassVar",
        )


def _is_class_variable(hint: object) -> bool:
    if isinstance(hint, str):  # as "from __future__ import annotations" leaves it
        return hint.startswith(("ClassVar", "typing.ClassVar"))
    return hint is ClassVar or get_origin(hint) is ClassVar


def _check_makeable(item: type[Any], what: str) -> None:
    """Refuse a class that needs arguments; it is called without any.

    Raises
    ------
    fmident.errors.PluginError
        Naming class and argument.
    """
    try:
        parameters = inspect.signature(item).parameters.values()
    except (TypeError, ValueError):
        return  # made in C, without a signature
    needed = [
        p.name
        for p in parameters
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    if needed:
        raise PluginError(
            f"{what}: its class {item.__name__} needs the argument '{needed[0]}'",
            hint="it is called without arguments: give it a default",
        )


def check_fields(kind: type[Any], what: str) -> None:
    """Refuse options that a problem file cannot give.

    Parameters
    ----------
    kind
        The dataclass whose fields are keys of a table.
    what
        Whose options they are, for the message.

    Raises
    ------
    fmident.errors.PluginError
        Naming class and field.
    """
    if not dataclasses.is_dataclass(kind):
        return
    options = [f.name for f in dataclasses.fields(kind) if f.init]
    if "name" in options:
        raise PluginError(
            f"{what}: its class {kind.__name__} has an option called 'name', which is the key "
            "by which it is chosen",
            hint="give the field another name",
        )
    try:
        hints = types_of(kind)
    except Exception as error:  # an annotation is an expression, which may raise anything
        raise PluginError(
            f"{what}: the types of the fields of its class {kind.__name__} cannot be found: "
            f"{type(error).__name__}: {error}",
            hint="import at run time what the annotations name, not under TYPE_CHECKING",
        ) from error
    for name in options:
        if not is_readable(hints[name]):
            raise PluginError(
                f"{what}: the option '{name}' of its class {kind.__name__} is of type "
                f"{getattr(hints[name], '__name__', hints[name])}, which a problem file cannot "
                "give",
                hint="an option is bool, int, float, str, Literal, tuple[X, ...], list[X], "
                "dict[str, X], or one of these or None; or a field with init=False",
            )
