"""The FMU's log: a C function that formats messages into memory, without Python.

FMI's logger callback takes a ``printf`` format and variable arguments, which Python
cannot receive. The function is generated with LLVM: it
formats into a ring of records, so a message costs no more than its formatting, needs no
interpreter lock, and can never fill memory or reach the terminal.

Keep what native code writes to the terminal.

Some FMUs print by themselves, past FMI's logger. While native code runs, the file
descriptors 1 and 2 of the process point to a file in memory.

Descriptors belong to the whole process: what other threads print meanwhile is captured
too, and with several simulations in threads the text cannot be told apart. Simulators
that run in threads beside a progress display may switch it off
(``fmu.simulator(capture_output=False)``).
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform as platform_module
import re
import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from llvmlite import binding, ir

from fmident.context_managers import RecoverableLock
from fmident.fmu.native_code.program import compile_module
from fmident.operating_system import flush_c_streams, memory_file, read_at, text_formatter

STATUS_NAMES = ("ok", "warning", "discard", "error", "fatal", "pending")
RECORDS = 1000
RECORD_BYTES = 2048
_CATEGORY_AT = 8
_MESSAGE_AT = 72
_HEADER_BYTES = 64
_AS_C99 = 1 << 1
"""``_CRT_INTERNAL_PRINTF_STANDARD_SNPRINTF_BEHAVIOR``: what does not fit is cut off, and there is
always a zero at the end."""
BUFFER_BYTES = _HEADER_BYTES + RECORDS * RECORD_BYTES


LIMIT = 64 * 1024
"""About this many bytes of the latest output are kept, per run."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class LogRecord:
    """One message of an FMU, or of the engine about the FMU.

    `status` is ``"ok"``, ``"warning"``, ``"discard"``, ``"error"``, ``"fatal"``,
    ``"output"`` for text that the FMU printed, or ``"note"`` for remarks of the engine.
    """

    status: str
    category: str
    message: str

    def __str__(self) -> str:
        return f"[{self.status}] {self.message}"


class LogBuffer:
    """A ring of the latest messages, with the addresses of C functions that fill it.

    `memory` is a map of :data:`BUFFER_BYTES` bytes, private by default. A shared one can be
    read by another process, even after a crash.
    """

    def __init__(self, memory: mmap.mmap | None = None) -> None:
        self._memory = memory if memory is not None else mmap.mmap(-1, BUFFER_BYTES)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self.logger_address, self.plain_logger_address = _compile_loggers(base)

    def clear(self) -> None:
        """Delete all messages."""
        self._memory[:8] = b"\0" * 8

    def records(self, names: Mapping[tuple[str, int], str]) -> list[LogRecord]:
        """Return the messages since :meth:`clear`, oldest first.

        `names` replace value references such as ``#r12#`` in the text.
        """
        return decode(self._memory, names)


def decode(memory: mmap.mmap | bytes, names: Mapping[tuple[str, int], str]) -> list[LogRecord]:
    """Read the records of a ring."""
    (count,) = struct.unpack_from("<q", memory, 0)
    records: list[LogRecord] = []
    if count > RECORDS:
        dropped = count - RECORDS
        records.append(LogRecord("note", "", f"{dropped} earlier messages were dropped"))
    for number in range(max(0, count - RECORDS), count):
        at = _HEADER_BYTES + (number % RECORDS) * RECORD_BYTES
        record = bytes(memory[at : at + RECORD_BYTES])
        (status,) = struct.unpack_from("<i", record, 0)
        category = _text(record[_CATEGORY_AT:_MESSAGE_AT])
        message = _resolve(_text(record[_MESSAGE_AT:]), names).rstrip()
        name = STATUS_NAMES[status] if 0 <= status < len(STATUS_NAMES) else f"status {status}"
        records.append(LogRecord(name, category, message))
    return records


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode("utf-8", "replace")


def _resolve(message: str, names: Mapping[tuple[str, int], str]) -> str:
    """Replace ``#<type><value reference>#`` by the name (FMI 2.0.4, section 2.1.5)."""

    def name(match: re.Match[str]) -> str:
        variable = names.get((match[1].lower(), int(match[2])))
        return match[0] if variable is None else variable

    return re.sub(r"#([ribsRIBS])(\d+)#", name, message).replace("##", "#")


_lock = RecoverableLock()
_engines: list[binding.ExecutionEngine] = []  # machine code lives as long as its engine
_free: list[LogBuffer] = []


def borrow_buffer() -> LogBuffer:
    """Return an empty buffer, to be returned by :func:`return_buffer`."""
    with _lock:
        buffer = _free.pop() if _free else None
    if buffer is None:
        buffer = LogBuffer()
    buffer.clear()
    return buffer


def return_buffer(buffer: LogBuffer) -> None:
    """Keep a buffer that no FMU uses any more for reuse."""
    with _lock:
        _free.append(buffer)


def _compile_loggers(base: int) -> tuple[int, int]:
    """Compile the callbacks for a ring at address `base`; return their addresses.

    It is part of the code, since some FMUs do not pass FMI's componentEnvironment on.
    """
    with _lock:
        engine = compile_module(_logger_module(base))
        _engines.append(engine)
        address = engine.get_function_address
        return int(address("fmident_log")), int(address("fmident_log_text"))


def _logger_module(base: int) -> ir.Module:
    byte = ir.IntType(8)
    pointer = byte.as_pointer()
    int32, int64 = ir.IntType(32), ir.IntType(64)
    module = ir.Module("fmident_log")

    def address(value: int, kind: ir.Type) -> ir.Constant:
        return ir.Constant(int64, value).inttoptr(kind.as_pointer())

    def external(name: str, result: ir.Type, arguments: list[ir.Type]) -> ir.Function:
        return ir.Function(module, ir.FunctionType(result, arguments), name)

    # An FMU hands over environment, instance name, status, category, format, arguments.
    signature = ir.FunctionType(
        ir.VoidType(), [pointer, pointer, int32, pointer, pointer], var_arg=True
    )
    logger = ir.Function(module, signature, "fmident_log")
    _, _, status, category, message = logger.args
    entry, store = logger.append_basic_block(), logger.append_basic_block()
    with_category, with_message = logger.append_basic_block(), logger.append_basic_block()
    done = logger.append_basic_block()

    build = ir.IRBuilder(entry)
    null = ir.Constant(pointer, None)
    build.cbranch(build.icmp_unsigned("==", message, null), done, store)

    build.position_at_end(store)
    number = build.atomic_rmw("add", address(base, int64), ir.Constant(int64, 1), "monotonic")
    slot = build.urem(number, ir.Constant(int64, RECORDS))
    offset = build.add(
        build.mul(slot, ir.Constant(int64, RECORD_BYTES)), ir.Constant(int64, _HEADER_BYTES)
    )
    record = build.gep(address(base, byte), [offset])
    build.store(status, build.bitcast(record, int32.as_pointer()))
    category_at = build.gep(record, [ir.Constant(int64, _CATEGORY_AT)])
    build.store(ir.Constant(byte, 0), category_at)
    build.cbranch(build.icmp_unsigned("==", category, null), with_message, with_category)

    build.position_at_end(with_category)
    size = _MESSAGE_AT - _CATEGORY_AT
    copy = external("strncpy", pointer, [pointer, pointer, int64])
    build.call(copy, [category_at, category, ir.Constant(int64, size)])
    last = build.gep(category_at, [ir.Constant(int64, size - 1)])
    build.store(ir.Constant(byte, 0), last)
    build.branch(with_message)

    build.position_at_end(with_message)
    va_start = external("llvm.va_start", ir.VoidType(), [pointer])
    va_end = external("llvm.va_end", ir.VoidType(), [pointer])
    arguments = build.alloca(int64, 8)
    as_bytes = build.bitcast(arguments, pointer)
    build.call(va_start, [as_bytes])
    by_value = sys.platform in ("win32", "cygwin") or (
        sys.platform == "darwin" and platform_module.machine() == "arm64"
    )
    # A va_list is a struct passed by its address, but a plain pointer on these two.
    passed = build.load(build.bitcast(arguments, pointer.as_pointer())) if by_value else as_bytes
    message_at = build.gep(record, [ir.Constant(int64, _MESSAGE_AT)])
    room = ir.Constant(int64, RECORD_BYTES - _MESSAGE_AT)
    formatter = text_formatter()
    if formatter is None:
        write = external("vsnprintf", int32, [pointer, int64, pointer, pointer])
        build.call(write, [message_at, room, message, passed])
    else:  # Windows: options, ..., locale, arguments
        kinds = [int64, pointer, int64, pointer, pointer, pointer]
        kind = ir.FunctionType(int32, kinds).as_pointer()
        write = build.inttoptr(ir.Constant(int64, formatter), kind)
        options = ir.Constant(int64, _AS_C99)
        build.call(write, [options, message_at, room, message, null, passed])
    build.call(va_end, [as_bytes])
    build.branch(done)

    build.position_at_end(done)
    build.ret_void()
    _add_plain_logger(module, logger)
    return module


def _add_plain_logger(module: ir.Module, logger: ir.Function) -> None:
    """Add FMI 3.0's callback: environment, status, category, text."""
    byte, int32 = ir.IntType(8), ir.IntType(32)
    pointer = byte.as_pointer()
    signature = ir.FunctionType(ir.VoidType(), [pointer, int32, pointer, pointer])
    plain = ir.Function(module, signature, "fmident_log_text")
    environment, status, category, text = plain.args
    begin = plain.append_basic_block()
    write, done = plain.append_basic_block(), plain.append_basic_block()
    build = ir.IRBuilder(begin)
    null = ir.Constant(pointer, None)
    build.cbranch(build.icmp_unsigned("==", text, null), done, write)
    build.position_at_end(write)
    content = ir.Constant(ir.ArrayType(byte, 3), bytearray(b"%s\0"))
    template = ir.GlobalVariable(module, content.type, "template")
    template.global_constant = True
    template.initializer = content
    form = build.bitcast(template, pointer)
    build.call(logger, [environment, null, status, category, form, text])
    build.branch(done)
    build.position_at_end(done)
    build.ret_void()


class Capture:
    """Output of native code to file descriptors 1 and 2 during :meth:`around`, if `enabled`."""

    def __init__(self, enabled: bool = True) -> None:
        self.enabled = enabled
        self.text = ""

    def around(self, work: Callable[[], Result]) -> Result:
        """Call `work` and return its result; :attr:`text` then holds its output.

        Even if Ctrl-C occurs while restoring, the user must not lose the terminal: hence a
        second attempt, and no context manager, whose exit could be interrupted before it
        begins.
        """
        if not self.enabled:
            return work()
        try:
            _redirection.begin(self)
            return work()
        finally:
            try:
                _redirection.end(self)
            except BaseException:
                _redirection.end(self)
                raise

    def trim(self) -> None:
        """Keep only the latest output of a long run in memory."""
        if self.enabled:
            _redirection.trim(self)


class _Redirection:
    """Process-wide state; every step can be repeated after an interruption."""

    def __init__(self) -> None:
        self.lock = RecoverableLock()
        self.users: set[int] = set()
        self.saved: list[tuple[int, int]] = []
        self.sink = -1
        self.owner = -1

    def open_sink(self) -> int:
        # After a fork the file would be shared with the parent: each process has its own.
        if self.sink < 0 or self.owner != os.getpid():
            self.sink = memory_file("fmident-output")
            self.owner = os.getpid()
        return self.sink

    def begin(self, user: Capture) -> None:
        with self.lock:
            self.users.add(id(user))
            if self.saved:
                return
            sink = self.open_sink()
            flush_c_streams()
            for descriptor in (1, 2):
                try:
                    self.saved.append((descriptor, os.dup(descriptor)))
                except OSError:
                    continue  # closed, as in a daemon: nothing to protect
                os.dup2(sink, descriptor)

    def end(self, user: Capture) -> None:
        with self.lock:
            flush_c_streams()
            self.users.discard(id(user))
            if not self.users:
                for descriptor, copy in self.saved:
                    os.dup2(copy, descriptor)
                while self.saved:
                    os.close(self.saved.pop()[1])
            self.collect(user, 1)

    def trim(self, user: Capture) -> None:
        with self.lock:
            self.collect(user, 16 * LIMIT)

    def collect(self, user: Capture, least: int) -> None:
        """Move the output to the user's text, if it has at least `least` bytes."""
        size = os.lseek(self.sink, 0, os.SEEK_CUR) if self.sink >= 0 else 0
        if size >= least:
            content = read_at(self.sink, LIMIT, max(0, size - LIMIT))
            user.text = (user.text + content.decode("utf-8", "replace"))[-LIMIT:]
            os.ftruncate(self.sink, 0)
            os.lseek(self.sink, 0, os.SEEK_SET)


_redirection = _Redirection()
