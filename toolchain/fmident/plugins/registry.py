"""Registries of named items provided by plugins."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any, ClassVar, Generic, TypeVar, get_origin

from fmident.errors import Code, PluginError, did_you_mean
from fmident.options import types_of
from fmident.plugin_code import code_of_plugin
from fmident.toml_file.options import is_readable

T = TypeVar("T")


_BASES = {
    "estimator": ("fmident.estimation.contract", "Estimator"),
    "cost": ("fmident.problem.cost", "Cost"),
    "executor": ("fmident.evaluation.executors.registry", "ExecutorKind"),
    "compiler": ("fmident.compilers.base", "Compiler"),
    "reporter": ("fmident.report.contract", "Reporter"),
}
"""What plugins register by ``fmident_register_...s``: the base class of each kind, or the class of
its descriptions; imported only when a plugin brings such a thing."""

_NOT_OPTIONS = frozenset({"name", "summary", "gives_intervals", "by_sample"})
"""What a cost says of itself as a class."""


@dataclass(frozen=True)
class Origin:
    """Origin of a plugin.

    Parameters
    ----------
    plugin
        Name of its entry point.
    module
        Value of the entry point, such as ``fmident_estimators.least_squares``.
    distribution, version
        The installed distribution; empty for a plugin that was not installed.
    """

    plugin: str
    module: str = ""
    distribution: str = ""
    version: str = ""

    @property
    def package(self) -> str:
        """The module without the name of an object in it."""
        return self.module.partition(":")[0]

    @property
    def is_built_in(self) -> bool:
        """Whether it is a module of fmident itself, so that its bugs are those of fmident."""
        return self.module.partition(".")[0] == "fmident"

    def __str__(self) -> str:
        source = f"{self.distribution} {self.version}".strip()
        return f"'{self.plugin}' of {source}" if source else f"'{self.plugin}'"


@dataclass(frozen=True)
class Registration(Generic[T]):
    """A named item and the plugin that registered it."""

    name: str
    item: T
    summary: str
    origin: Origin


@dataclass(frozen=True)
class _Announced:
    """An item that is imported on first use."""

    name: str
    home: str
    summary: str | None
    origin: Origin


class NameTakenError(PluginError):
    """Two plugins register items of the same kind under the same name."""


class Registry(Generic[T]):
    """Items of one kind by name.

    `kind` is the noun used in messages, such as ``"estimator"``, and `origin` the plugin
    for which :meth:`add` registers.
    """

    def __init__(self, kind: str, origin: Origin | None = None) -> None:
        self.kind = kind
        self._origin = origin if origin is not None else Origin("(this program)")
        self._items: dict[str, Registration[T] | _Announced] = {}

    def add(self, name: str, item: T, summary: str | None = None) -> None:
        """Register `item` as `name`.

        Parameters
        ----------
        name
            As written by users, such as ``"least-squares"``.
        item
            The registered item.
        summary
            One line for ``fmident plugins``; by default the item's own ``summary``, else
            the first line of its docstring.

        Raises
        ------
        fmident.errors.PluginError
            The name is taken or is not a plain word.
        """
        self._refuse_no_word(name)
        self._insert(_registered(name, item, summary, self._origin))

    def add_when_used(self, name: str, home: str, summary: str | None = None) -> None:
        """Register an item that is imported only when it is used or all are listed.

        Thus a command that uses one item does not wait for the imports of the others. `home` is
        module and name of the item, such as ``"my_plugin.estimator:MyEstimator"``; the other
        arguments are as for :meth:`add`. The item is checked when it is imported. Raises
        `PluginError` if the name is taken or is not a plain word, or `home` has not that form.
        """
        self._refuse_no_word(name)
        if not all(part.isidentifier() for part in home.replace(":", ".", 1).split(".")) or (
            ":" not in home
        ):
            raise PluginError(
                f"plugin {self._origin} registers the {self.kind} '{name}' from {home!r}",
                hint="write module and name, such as 'my_plugin.estimator:MyEstimator'",
            )
        self._insert(_Announced(name, home, summary, self._origin))

    def of(self, origin: Origin) -> Registry[T]:
        """Return a view of the registry that registers for the plugin `origin`."""
        same = Registry[T](self.kind, origin)
        same._items = self._items
        return same

    def check(self) -> None:
        """Check the plugin's items with :func:`~fmident.plugins.registry.check_item`.

        Raises `PluginError`.
        """
        for entry in self.imported:
            if entry.origin == self._origin:
                check_item(self.kind, entry.name, entry.item)

    def remove(self, origins: Container[Origin]) -> None:
        """Remove the items of the given plugins."""
        for name in [n for n, entry in self._items.items() if entry.origin in origins]:
            del self._items[name]

    def get(self, name: str) -> T:
        """Return the item called `name`.

        Raises `PluginError` if there is none (similar names are listed) or its plugin cannot
        import it.
        """
        return self.registration(name).item

    def registration(self, name: str) -> Registration[T]:
        """Return the registration called `name`; errors are those of :meth:`get`."""
        if name not in self._items:
            raise PluginError(
                f"there is no {self.kind} '{name}'",
                hint=did_you_mean(name, self._items, kind=self.kind)
                + "; 'fmident plugins' lists what is installed",
                code=Code.UNKNOWN_NAME,
            )
        entry = self._items[name]
        if isinstance(entry, _Announced):
            entry = self._imported(entry)
            self._items[name] = entry
        return entry

    def names(self) -> tuple[str, ...]:
        """Return all names, sorted."""
        return tuple(sorted(self._items))

    @property
    def registrations(self) -> Mapping[str, Registration[T]]:
        """All registrations by name; imports them."""
        return {name: self.registration(name) for name in self.names()}

    @property
    def imported(self) -> tuple[Registration[T], ...]:
        """Registrations that are already imported."""
        return tuple(e for e in self._items.values() if isinstance(e, Registration))

    @property
    def by_name(self) -> Mapping[str, T]:
        """All items by name, each imported on access."""
        return _ItemsByName(self)

    def __iter__(self) -> Iterator[Registration[T]]:
        return iter(self.registrations.values())

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __len__(self) -> int:
        return len(self._items)

    def _imported(self, announced: _Announced) -> Registration[T]:
        module, _, name = announced.home.partition(":")
        what = f"the {self.kind} '{announced.name}' of plugin {announced.origin}"
        with code_of_plugin(what, module):
            item: T = getattr(importlib.import_module(module), name)
        check_item(self.kind, announced.name, item)
        return _registered(announced.name, item, announced.summary, announced.origin)

    def _refuse_no_word(self, name: str) -> None:
        if not name or name != name.strip() or any(c.isspace() for c in name):
            raise PluginError(
                f"plugin {self._origin} registers the {self.kind} {name!r}",
                hint="a name is one word, such as 'random-search'",
            )

    def _insert(self, entry: Registration[T] | _Announced) -> None:
        existing = self._items.get(entry.name)
        if existing is not None:
            raise NameTakenError(
                f"the {self.kind} '{entry.name}' is registered twice: "
                f"by plugin {existing.origin} and by plugin {entry.origin}",
                hint="uninstall one of the two, or rename one of them",
            )
        self._items[entry.name] = entry


class _ItemsByName(Mapping[str, T]):
    def __init__(self, registry: Registry[T]) -> None:
        self._registry = registry

    def __getitem__(self, name: str) -> T:
        if name not in self._registry:
            raise KeyError(name)
        return self._registry.get(name)

    def __contains__(self, name: object) -> bool:
        return name in self._registry

    def __iter__(self) -> Iterator[str]:
        return iter(self._registry.names())

    def __len__(self) -> int:
        return len(self._registry)


def _registered(name: str, item: T, summary: str | None, origin: Origin) -> Registration[T]:
    return Registration(name, item, _summary_of(item) if summary is None else summary, origin)


def _summary_of(item: object) -> str:
    summary = getattr(item, "summary", "")
    if isinstance(summary, str) and summary:
        return summary
    text = (getattr(item, "__doc__", None) or "").strip()
    if isinstance(item, type) and is_dataclass(item) and text.startswith(f"{item.__name__}("):
        return ""  # the signature, which a dataclass without a docstring has in its place
    return text.splitlines()[0].removesuffix(".") if text else ""


def check_item(kind: str, name: str, item: object) -> None:
    """Raise `PluginError` if the host could not use a registered item.

    It must be a class derived from the base class of its kind, have all methods and need no
    arguments; an executor must be described; options must be readable from a file.
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
    """Raise `PluginError` if a class has no name, or one that differs from its registration.

    A different name matters only if results would contain it (`alike`).
    """
    own = getattr(item, "name", None)
    if not isinstance(own, str) or not own or (alike and own != name):
        raise PluginError(
            f"{what}: its class {item.__name__} "
            + ("has no name" if own is None else f"is called {own!r}"),
            hint=f'write name = "{name}" into the class',
        )


def _options_type(item: type[Any], what: str) -> type[Any]:
    """Return an estimator's options type; raise `PluginError` if it is not a dataclass."""
    options = getattr(item, "options_type", None)
    if not (isinstance(options, type) and dataclasses.is_dataclass(options)):
        raise PluginError(
            f"{what}: its class {item.__name__} has no dataclass as options_type",
            hint="make it a frozen dataclass: its fields are the keys of the [estimator] table",
        )
    return options


def _check_is_dataclass(item: type[Any], what: str) -> None:
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
    """Raise `PluginError` if the constructor of a class needs arguments."""
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
    """Raise `PluginError` for options that a problem file cannot express.

    `kind` is the dataclass whose fields are keys of a table; `what` names its owner for the
    message.
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
