"""Named things that plugins bring along."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Generic, TypeVar

from fmident.errors import Code, PluginError, did_you_mean

T = TypeVar("T")


@dataclass(frozen=True)
class Origin:
    """Where a plugin comes from.

    Parameters
    ----------
    plugin
        Name of its entry point.
    module
        What the entry point names, such as ``fmident_estimators.least_squares``.
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
    """One thing under its name, with the plugin it came from."""

    name: str
    item: T
    summary: str
    origin: Origin


class Registry(Generic[T]):
    """Things of one kind by name.

    A plugin sees one registry for itself alone; the host adds it to the common one only
    after the plugin's hook has returned, so that a plugin that fails half-way leaves
    nothing behind.

    Parameters
    ----------
    kind
        The noun for its items, such as ``"estimator"``; used in messages.
    origin
        The plugin that :meth:`add` registers for.
    """

    def __init__(self, kind: str, origin: Origin | None = None) -> None:
        self.kind = kind
        self._origin = origin if origin is not None else Origin("(this program)")
        self._items: dict[str, Registration[T]] = {}

    def add(self, name: str, item: T, summary: str | None = None) -> None:
        """Register `item` as `name`.

        Parameters
        ----------
        name
            As users write it, such as ``"least-squares"``.
        item
            What is registered.
        summary
            One line for ``fmident plugins``; by default the item's own ``summary``, else
            the first line of its docstring.

        Raises
        ------
        fmident.errors.PluginError
            The name is taken or is not a plain word.
        """
        if not name or name != name.strip() or any(c.isspace() for c in name):
            raise PluginError(
                f"plugin {self._origin} registers the {self.kind} {name!r}",
                hint="a name is one word, such as 'random-search'",
            )
        if summary is None:
            summary = _summary_of(item)
        self._insert(Registration(name, item, summary, self._origin))

    def merge(self, other: Registry[T]) -> None:
        """Add everything in `other`, or nothing.

        Raises
        ------
        fmident.errors.PluginError
            A name is taken.
        """
        self.check(other)
        for registration in other:
            self._insert(registration)

    def check(self, other: Registry[T]) -> None:
        """Refuse `other` when :meth:`merge` would.

        Raises
        ------
        fmident.errors.PluginError
            A name is taken.
        """
        for registration in other:
            self._refuse_taken(registration)

    def get(self, name: str) -> T:
        """Return the item called `name`.

        Raises
        ------
        fmident.errors.PluginError
            There is none; the message lists the nearest names.
        """
        try:
            return self._items[name].item
        except KeyError:
            raise PluginError(
                f"there is no {self.kind} '{name}'",
                hint=did_you_mean(name, self._items, kind=self.kind)
                + "; 'fmident plugins' lists what is installed",
                code=Code.UNKNOWN_NAME,
            ) from None

    def names(self) -> tuple[str, ...]:
        """Return all names, sorted."""
        return tuple(sorted(self._items))

    @property
    def registrations(self) -> Mapping[str, Registration[T]]:
        """All registrations by name."""
        return dict(sorted(self._items.items()))

    @property
    def by_name(self) -> Mapping[str, T]:
        """All items by name."""
        return {name: self._items[name].item for name in self.names()}

    def __iter__(self) -> Iterator[Registration[T]]:
        return iter(self.registrations.values())

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __len__(self) -> int:
        return len(self._items)

    def _insert(self, registration: Registration[T]) -> None:
        self._refuse_taken(registration)
        self._items[registration.name] = registration

    def _refuse_taken(self, registration: Registration[T]) -> None:
        taken = self._items.get(registration.name)
        if taken is not None:
            raise PluginError(
                f"the {self.kind} '{registration.name}' is registered twice: "
                f"by plugin {taken.origin} and by plugin {registration.origin}",
                hint="uninstall one of the two, or rename one of them",
            )


def _summary_of(item: object) -> str:
    summary = getattr(item, "summary", "")
    if isinstance(summary, str) and summary:
        return summary
    text = (getattr(item, "__doc__", None) or "").strip()
    if isinstance(item, type) and is_dataclass(item) and text.startswith(f"{item.__name__}("):
        return ""  # the signature, which a dataclass without a docstring has in its place
    return text.splitlines()[0] if text else ""
