"""Keeps one instance of an FMU over many runs, and replaces it when necessary."""

from __future__ import annotations

from collections.abc import Callable

from fmident.errors import FmuError
from fmident.fmu.failure import note, output_records, own_words
from fmident.fmu.life_cycle.instance import BaseInstance, CallFailed, status_word
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.native_code.library import FATAL
from fmident.fmu.native_code.log import Capture, LogRecord


class InstanceHolder:
    """The instance of a simulator, created by `make` with full logging or not.

    `instantiations` is 1 unless another was necessary; `notes` are for the present run's
    log.
    """

    def __init__(
        self,
        description: ModelDescription,
        make: Callable[[bool], BaseInstance],
        *,
        debug_logging: bool,
    ) -> None:
        self._description = description
        self._make = make
        self._debug = debug_logging
        self._instance: BaseInstance | None = None
        self._fresh = True
        self._can_reset = True
        self._reason = ""
        self.instantiations = 0
        self.notes: list[LogRecord] = []

    @property
    def instance(self) -> BaseInstance:
        """The live instance, which exists from :meth:`renew` to the end of a run."""
        assert self._instance is not None, "a run begins by renewing the instance"
        return self._instance

    def make_first(self, capture: Capture, records: Callable[[], list[LogRecord]]) -> None:
        """Instantiate the FMU; raise `FmuError` with its own messages if it refuses."""
        good = capture.around(lambda: self._try(debug=self._debug))
        messages = records()
        if not good and not messages and not self._debug:
            # Many FMUs say why only when logging is on.
            good = capture.around(lambda: self._try(debug=True))
            messages = records()
        if good:
            return
        reason = own_words([*messages, *output_records(capture.text)])
        name, tool = self._description.name, self._description.generation_tool
        raise FmuError(
            f"the FMU of '{name}' refuses to be instantiated"
            + (f": {reason}" if reason else " and does not say why"),
            hint=f"the FMU needs the tool that made it ({tool}): is it installed here?"
            if self._description.needs_execution_tool
            else "a wrong GUID (library and description do not belong together), a missing"
            " licence or resource are the usual reasons",
        )

    def _try(self, *, debug: bool) -> bool:
        try:
            self._instantiate(debug=debug)
        except CallFailed:
            return False
        return True

    def _instantiate(self, *, debug: bool) -> None:
        self._instance = self._make(debug)
        self._fresh = True
        self.instantiations += 1

    def renew(self) -> BaseInstance:
        """Return an instance in the state after instantiation: reset, or new."""
        if self._instance is not None and not self._fresh and not self._reset():
            self.drop()
        if self._instance is None:
            self._instantiate(debug=self._debug)
            if self._reason:
                self.notes.append(note(self._reason))
                self._reason = ""
        self._fresh = False
        return self.instance

    @property
    def is_new(self) -> bool:
        """Whether nothing has run on the instance since its creation."""
        return self._fresh and self._instance is not None

    @property
    def resets(self) -> bool:
        """Whether the next run begins with a reset."""
        return self._instance is not None and not self._fresh and self._can_reset

    def set_aside(self) -> None:
        """Free the instance, used or not; the next run uses a new one."""
        self.instantiations -= self.is_new
        self.drop()
        self._reason = ""

    def never_reset(self) -> None:
        """Use a new instance for each run from now on."""
        self._can_reset = False

    def _reset(self) -> bool:
        if not self._can_reset:
            return False
        try:
            self.instance.reset()
        except CallFailed as failed:
            self._can_reset = False
            word = status_word(failed.status)
            self.notes.append(
                note(f"{failed.function} returned {word}; the FMU is instantiated for each run")
            )
            self.drop(failed.status)
            return False
        return True

    def give_up(self, status: int) -> None:
        """Free an instance that returned Error or Fatal."""
        self.drop(status)
        self._reason = f"instantiated anew, since the last run ended with {status_word(status)}"

    def part(self) -> None:
        """Free an instance that requested termination: not all FMUs revoke that when reset."""
        self.drop()
        self._reason = "instantiated anew, since the FMU itself ended the last run"

    def drop(self, status: int = 0) -> None:
        """Free the instance, if there is one; after Fatal, FMI forbids even that."""
        instance, self._instance = self._instance, None
        if instance is not None:
            if status == FATAL:
                instance.abandon()
            else:
                instance.free()
