"""Exceptions that cross from one process to another: as a class of the same name, with its causes."""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Callable
from typing import Any

PLAIN = (int, str, bool, float, type(None))
ELSEWHERE = {"CancelledError": "asyncio.exceptions"}  # slow to import, and seldom needed
TEXT = 500


def content(error: BaseException, pack: Callable[[Any], Any]) -> list[Any]:
    """Take an exception apart: name, known class, arguments, members, cause, context, whether the context is hidden."""
    name, known = type(error).__name__[:TEXT], next(c.__name__ for c in type(error).__mro__ if _is_known(c))
    members = list(map(pack, error.exceptions)) if isinstance(error, BaseExceptionGroup) else []
    links = [pack(error.__cause__), pack(error.__context__), error.__suppress_context__]
    return [name, known, _arguments(error), members, *links]


def _is_known(kind: type) -> bool:
    """Whether the other process has this very class."""
    place = sys.modules.get(ELSEWHERE.get(kind.__name__, "builtins"))
    return getattr(place, kind.__name__, None) is kind


def _known(name: str) -> Any:
    place = importlib.import_module(ELSEWHERE[name]) if name in ELSEWHERE else builtins
    return getattr(place, name, None)


def _arguments(error: BaseException) -> list[Any]:
    if isinstance(error, BaseExceptionGroup):
        return [error.message[:TEXT]]
    arguments = error.args if type(error.args) is tuple else ()
    if all(type(argument) in PLAIN for argument in arguments):
        return [argument[:TEXT] if type(argument) is str else argument for argument in arguments]
    try:
        return [str(error)[:TEXT]]
    except Exception:
        return []


def blank(content: list[Any], unpack: Callable[[Any], Any]) -> BaseException:
    """Make the exception, without its links."""
    name, known, arguments, members = content[:4]
    base = _known(known)
    if not (isinstance(base, type) and issubclass(base, BaseException)):
        base = Exception
    made = base if base.__name__ == name else type(name, (base,), {"__module__": "solution"})
    parts: list[Any] = list(arguments)
    if issubclass(base, BaseExceptionGroup):
        parts = [*arguments, [unpack(member) for member in members]]
    error: BaseException = made.__new__(made, *parts)
    if not isinstance(error, BaseExceptionGroup):
        error.args = tuple(arguments)
    return error


def link(error: BaseException, content: list[Any], unpack: Callable[[Any], Any]) -> None:
    """Set the links that there are; one that is not there takes none away."""
    cause, context = unpack(content[4]), unpack(content[5])
    if context is not None and context is not error:
        error.__context__ = context
    if cause is not None and cause is not error:
        error.__cause__ = cause
    error.__suppress_context__ = content[6] or error.__suppress_context__


def forget_frames(error: BaseException | None, seen: set[int]) -> None:
    """Let go of what the frames of an exception, and of those it is linked to, hold."""
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.__traceback__ = None
        for member in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
            forget_frames(member, seen)
        forget_frames(error.__cause__, seen)
        error = error.__context__
