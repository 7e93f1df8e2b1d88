"""What PyPTO logs while it works: one logger, one threshold, one format.

Everything goes through Python's logger ``pypto``, so that a program that sets up `logging` sees
our records too. The logger's level is the threshold. Unless the logger was given a handler of its
own, records go to standard error::

    2026-11-21 04:21:50.123 W | no PTO assembler was found

Knows nothing about what is logged; reports on a user's program are errors or diagnostics.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager
from enum import IntEnum
from typing import Final

from pypto._src.knobs import DEBUG


class LogLevel(IntEnum):
    """The importance of a record. EVENT is for what a person should know, though nothing failed."""

    DEBUG = 0
    INFO = 1
    WARN = 2
    ERROR = 3
    FATAL = 4
    EVENT = 5
    NONE = 6


# The numbers of `logging`, where DEBUG is 10 and FATAL is 50.
_NUMBERS: Final[dict[int, int]] = {level: 10 * (level + 1) for level in LogLevel}
_LETTER_OF: Final = {_NUMBERS[level]: letter for level, letter in enumerate("DIWEFV")}
logging.addLevelName(_NUMBERS[LogLevel.EVENT], LogLevel.EVENT.name)


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """Return the record with time and letter before each line of its message."""
        seconds = self.formatTime(record, "%Y-%m-%d %H:%M:%S")
        letter = _LETTER_OF.get(record.levelno, "I")
        head = f"{seconds}.{int(record.msecs):03} {letter} | "
        # A message of several lines becomes as many log lines, for programs that read it.
        return "\n".join(head + line for line in record.getMessage().splitlines() or [""])


class _ToStandardError(logging.Handler):
    """Writes to what `sys.stderr` is at the time, unless the root logger writes there already."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record."""
        stream = sys.stderr
        roots = logging.getLogger().handlers
        if any(getattr(handler, "stream", None) is stream for handler in roots):
            return
        try:
            stream.write(self.format(record) + "\n")
            stream.flush()
        except Exception:
            self.handleError(record)  # a log never stops the program


_HANDLER: Final = _ToStandardError()
_HANDLER.setFormatter(_Formatter())


def _logger() -> logging.Logger:
    """Return the logger, with the default threshold and handler unless others were given."""
    logger = logging.getLogger("pypto")
    if logger.level == logging.NOTSET:
        set_log_level(LogLevel.DEBUG if DEBUG.get() else LogLevel.ERROR)
    if not logger.handlers:
        logger.addHandler(_HANDLER)
    return logger


def set_log_level(level: LogLevel | int) -> None:
    """Show records of ``level`` and above from now on; NONE shows nothing.

    The threshold is ERROR at first, and DEBUG with ``PYPTO_DEBUG=1``.

    Raises:
        ValueError: ``level`` is not the number of a `LogLevel`.
        TypeError: it is not a number.
    """
    if not isinstance(level, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"a log level is a LogLevel or int, got {type(level).__name__}")
    if level not in _NUMBERS:
        levels = ", ".join(f"{known.name}={known.value}" for known in LogLevel)
        raise ValueError(f"the log level is {level}, it is one of {levels}")
    logging.getLogger("pypto").setLevel(_NUMBERS[level])


def configure_log(level: LogLevel | int | str) -> None:
    """Show records of ``level`` and above from now on, as `set_log_level`; also by name: "info".

    Raises:
        ValueError: there is no such level.
        TypeError: it is neither a level nor a name.
    """
    set_log_level(_named(level))


@contextmanager
def log_level(level: LogLevel | int | str) -> Generator[None]:
    """Show records of ``level`` and above inside a ``with``; see `configure_log`."""
    logger = _logger()
    before = logger.level
    configure_log(level)
    try:
        yield
    finally:
        logger.setLevel(before)


def _named(level: LogLevel | int | str) -> LogLevel | int:
    if not isinstance(level, str):
        return level
    name = {"WARNING": "WARN", "CRITICAL": "FATAL"}.get(level.upper(), level.upper())
    if name not in LogLevel.__members__:
        known = ", ".join(LogLevel.__members__)
        raise ValueError(f"there is no log level {level!r}; the levels are {known}")
    return LogLevel[name]


@contextmanager
def unlogged() -> Generator[None]:
    """Show no records inside a ``with``: they are about programs that are only being tried."""
    logger = _logger()
    level = logger.level
    logger.setLevel(_NUMBERS[LogLevel.NONE])
    try:
        yield
    finally:
        logger.setLevel(level)


def log(level: LogLevel, message: str) -> None:
    """Write ``message`` if ``level`` reaches the threshold."""
    _logger().log(_NUMBERS[level], "%s", message)


def log_debug(message: str) -> None:
    """Log what helps to find a defect of the compiler."""
    log(LogLevel.DEBUG, message)


def log_info(message: str) -> None:
    """Log what the compiler does."""
    log(LogLevel.INFO, message)


def log_warn(message: str) -> None:
    """Log what may be a mistake."""
    log(LogLevel.WARN, message)


def log_error(message: str) -> None:
    """Log what is wrong."""
    log(LogLevel.ERROR, message)


def log_fatal(message: str) -> None:
    """Log why the compiler cannot continue."""
    log(LogLevel.FATAL, message)


def log_event(message: str) -> None:
    """Log what a person should know, though nothing failed; only NONE hides it."""
    log(LogLevel.EVENT, message)
