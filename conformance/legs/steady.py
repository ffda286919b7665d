"""Scale: does the work per call stay the same, and does it work at all with much of everything?

Work is counted, not timed: the line events of the interpreter in the implementation's own code.
That is the same number on every machine. Work that a library does in C, such as `list.pop(0)`, is not
seen; at these sizes it is negligible.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from conformance.run import deadline
from reference.vocabulary import Dialect, Request

SMALL, LARGE = 128, 1024
GROWTH = 2.0  # work per call may grow by this factor when everything else grows by LARGE / SMALL
SLOTS = 4


class LastTokenModel:
    """Answers from the last token of a row alone, so that long rows cost it nothing."""

    def __init__(self) -> None:
        self.calls = 0

    def next_tokens(self, batch: list[list[int]]) -> list[int]:
        self.calls += 1
        return [row[-1] % 1_000 + 1 if row else 1 for row in batch]


def problem(generate: Callable[..., Any], dialect: Dialect) -> str:
    """Say what fails at scale, or nothing. What grows is not tried on 20,000 requests, which would take long."""
    return _grows(generate, dialect) or _works(generate, dialect)


def _works(generate: Callable[..., Any], dialect: Dialect) -> str:
    cases = (
        ("20000 requests of one token", 20_000, 1, 4, 20_000 // 4),
        ("one request of 20000 tokens", 1, 20_000, 1, 20_000),
        ("1000 slots", 1_000, 3, 1_000, 3),
    )
    for what, count, length, slots, calls in cases:
        model = LastTokenModel()
        counted = 1 if dialect.max_tokens == "total" else 0
        requests = [Request(f"r{i}", [i], length + counted) for i in range(count)]
        try:
            with deadline(20):
                out = generate(model, requests, slots, -1)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return f"{what}: {type(error).__name__} {error}"[:200]
        if not isinstance(out, dict) or len(out) != count or model.calls != calls:
            return f"{what}: {model.calls} calls instead of {calls}"
        if any(len(tokens) != length for tokens in out.values()):
            return f"{what}: an output of another length"
    return ""


def _grows(generate: Callable[..., Any], dialect: Dialect) -> str:
    small, large = (_work_per_call(generate, dialect, count) for count in (SMALL, LARGE))
    if large > GROWTH * small + 20:
        times = LARGE // SMALL
        return f"{small:.0f} lines of work per call with {SMALL} requests, {large:.0f} with {times} times as many"
    return ""


def _work_per_call(generate: Callable[..., Any], dialect: Dialect, count: int) -> float:
    """Count line events, in all code but ours, while `count` requests of two tokens are served on four slots."""
    model = LastTokenModel()
    ours = (__file__, sys.modules[Request.__module__].__file__)
    lines = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal lines
        if frame.f_code.co_filename in ours:
            return None
        if event == "line":
            lines += 1
        return trace

    counted = 1 if dialect.max_tokens == "total" else 0
    requests = [Request(f"r{i}", [i], 2 + counted) for i in range(count)]
    before = sys.gettrace()
    threading.settrace(trace)
    sys.settrace(trace)
    try:
        with deadline(20):
            generate(model, requests, SLOTS, -1)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return 0.0  # that it fails is for `_works` to say
    finally:
        sys.settrace(before)
        threading.settrace(before)
    return lines / max(1, model.calls)
