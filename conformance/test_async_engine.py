"""`AsyncEngine`: streams for many readers, who come and go; no test looks at a clock.

It applies to a module that offers `AsyncEngine`; the default run checks the reference's. A model that is
called more often than any right engine would call it raises, so that an abort that does not reach the
engine is an error and no hang.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing, suppress
from typing import Any

import pytest

from conformance.targets import REFERENCE as CORE
from conformance.targets import load
from reference.generate import generate
from reference.vocabulary import Dialect, Request

STOP = 0
ENDLESS = 1_000_000
WATCHDOG = 60.0
MOST = 3_000  # calls; a reader leaves after some, and the engine may run ahead of it by some more


class Failed(Exception):
    """What the model raises when it is told to."""


class Counting:
    """A model whose reply tells whose prefix it answers and how long that is; it stops at the length in the prompt."""

    def __init__(self) -> None:
        self.calls = 0
        self.rows: list[list[list[int]]] = []
        self.fail = False

    def next_tokens(self, batch: list[list[int]]) -> list[int]:
        """A prompt is [name, length]: the reply to it and k tokens is 1000 * name + k + 1, or the stop token."""
        self.calls += 1
        assert self.calls <= MOST, f"{MOST} calls: somebody who has left is still served"
        self.rows.append([list(row) for row in batch])
        if self.fail:
            self.fail = False
            raise Failed
        return [STOP if len(row) - 2 == row[1] else 1000 * row[0] + len(row) - 1 for row in batch]


def request(name: int, length: int, max_tokens: int = ENDLESS) -> Request:
    return Request(f"r{name}", [name, length], max_tokens)


@pytest.fixture(scope="module")
def make(target: str, pytestconfig: pytest.Config) -> Any:
    """The module's `AsyncEngine`, in the default dialect; skipped, with the reason, where it has none."""
    if pytestconfig.getoption("--isolated") or target.startswith("exec:"):
        pytest.skip("AsyncEngine is checked in this process only")
    module = load("reference.async_engine" if target == CORE else target).module
    if not callable(getattr(module, "AsyncEngine", None)):
        pytest.skip(f"{target} offers no AsyncEngine")
    return module.AsyncEngine


@pytest.fixture
def model() -> Counting:
    return Counting()


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run in a loop of its own. A watchdog makes a failure of what would hang; right ones take no time at all."""
    asyncio.run(asyncio.wait_for(main, WATCHDOG))


async def collected(stream: AsyncGenerator[int, None]) -> list[int]:
    return [token async for token in stream]


async def first(stream: AsyncGenerator[int, None], count: int) -> list[int]:
    """Read some tokens, and keep the stream open."""
    return [await anext(stream) for _ in range(count)]


def expected(model: type[Counting], *requests: Request) -> list[list[int]]:
    return [generate(model(), [r], 1, STOP)[r.request_id] for r in requests]


def test_a_stream_is_what_generate_returns(make: Any, model: Counting) -> None:
    """Zero tokens, one, a stop token, a limit, and a stop token in the last allowed position."""
    requests = [request(1, 9, 0), request(2, 9, 1), request(3, 2), request(4, 9, 4), request(5, 3, 4)]

    async def main() -> None:
        engine = make(model, 2, STOP)
        streams = await asyncio.gather(*(collected(engine.generate(r)) for r in requests))
        assert streams == expected(Counting, *requests)

    run(main())


def test_many_readers(make: Any, model: Counting) -> None:
    """200 readers on 7 slots, each with its own tokens."""
    requests = [request(n, n % 11, 1 + n % 7) for n in range(1, 201)]

    async def main() -> None:
        engine = make(model, 7, STOP)
        streams = await asyncio.gather(*(collected(engine.generate(r)) for r in requests))
        assert streams == expected(Counting, *requests)
        assert max(map(len, model.rows)) == 7

    run(main())


def test_leaving_the_loop_aborts(make: Any, model: Counting) -> None:
    """The only slot is free for the next request, though the first one would never end."""

    async def main() -> None:
        engine = make(model, 1, STOP)
        async for token in engine.generate(request(1, ENDLESS)):
            assert token == 1001
            break
        assert await collected(engine.generate(request(2, 2))) == [2001, 2002, STOP]

    run(main())


def test_closing_the_generator_aborts(make: Any, model: Counting) -> None:
    """`aclosing` closes it, also where somebody still holds it."""

    async def main() -> None:
        engine = make(model, 1, STOP)
        async with aclosing(engine.generate(request(1, ENDLESS))) as stream:
            assert await first(stream, 3) == [1001, 1002, 1003]
        assert await collected(engine.generate(request(2, 2))) == [2001, 2002, STOP]
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    run(main())


def test_cancelling_the_task_aborts(make: Any, model: Counting) -> None:
    """Both while it reads, and while it waits in the queue of the engine."""

    async def main() -> None:
        engine = make(model, 1, STOP)
        running = asyncio.create_task(collected(engine.generate(request(1, ENDLESS))))
        waiting = asyncio.create_task(collected(engine.generate(request(2, ENDLESS))))
        last = asyncio.create_task(collected(engine.generate(request(3, 1))))
        while not model.calls:
            await asyncio.sleep(0)
        for task in (waiting, running):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        assert await last == [3001, STOP]
        assert not any(row[0] == 2 for batch in model.rows for row in batch)

    run(main())


def test_a_reader_that_leaves_changes_nothing_for_the_others(make: Any, model: Counting) -> None:
    """Every second of 20 readers leaves after two tokens."""
    requests = [request(n, 6) for n in range(1, 21)]

    async def main() -> None:
        engine = make(model, 3, STOP)

        async def leaves(r: Request) -> list[int]:
            async with aclosing(engine.generate(r)) as stream:
                return await first(stream, 2)

        tasks = [leaves(r) if n % 2 else collected(engine.generate(r)) for n, r in enumerate(requests)]
        streams = await asyncio.gather(*tasks)
        for n, (stream, whole) in enumerate(zip(streams, expected(Counting, *requests), strict=True)):
            assert stream == (whole[:2] if n % 2 else whole)

    run(main())


def test_a_slow_reader_stalls_nobody(make: Any, model: Counting) -> None:
    """It reads one token, then nothing until all others are through; then the rest is there, whole."""

    async def main() -> None:
        engine = make(model, 2, STOP)
        slow = engine.generate(request(1, 50))
        assert await first(slow, 1) == [1001]
        others = [request(n, 5) for n in range(2, 12)]
        assert await asyncio.gather(*(collected(engine.generate(r)) for r in others)) == expected(Counting, *others)
        assert await collected(slow) == expected(Counting, request(1, 50))[0][1:]

    run(main())


def test_an_id_can_be_used_again_at_once(make: Any, model: Counting) -> None:
    """A client retries under its id, ten times; no stream has a token of an earlier one."""

    async def main() -> None:
        engine = make(model, 1, STOP)
        for attempt in range(1, 11):
            async with aclosing(engine.generate(Request("same", [attempt, ENDLESS], ENDLESS))) as stream:
                assert await first(stream, 1) == [1000 * attempt + 1]
        assert await collected(engine.generate(Request("same", [11, 1], 5))) == [11_001, STOP]

    run(main())


def test_a_failing_model_leaves_no_reader_waiting(make: Any, model: Counting) -> None:
    """Those whose call failed get the exception; who comes later is served."""

    async def main() -> None:
        engine = make(model, 2, STOP)
        model.fail = True
        readers = (collected(engine.generate(request(n, 3))) for n in (1, 2))
        ends = await asyncio.gather(*readers, return_exceptions=True)
        assert isinstance(ends[0], Failed)
        # The second one need not have been in that call.
        assert isinstance(ends[1], Failed) or ends[1] == [2001, 2002, 2003, STOP]
        assert await collected(engine.generate(request(3, 1))) == [3001, STOP]

    run(main())


def test_bad_arguments_are_refused(make: Any, model: Counting) -> None:
    """A negative limit is a ValueError, at the latest when the stream is read."""

    async def main() -> None:
        with pytest.raises(ValueError, match="max_tokens"):
            await collected(make(model, 1, STOP).generate(request(1, 3, -1)))

    run(main())


def test_an_engine_that_was_idle_serves_again(make: Any, model: Counting) -> None:
    """It makes no call while nobody is there."""

    async def main() -> None:
        engine = make(model, 1, STOP)
        for name in (1, 2):
            assert await collected(engine.generate(request(name, 1))) == [1000 * name + 1, STOP]
            await asyncio.sleep(0)
        assert model.calls == 4

    run(main())


def test_a_stop_token_that_the_dialect_excludes_is_not_streamed(make: Any, model: Counting) -> None:
    """It ends the stream all the same."""

    async def main() -> None:
        try:
            engine = make(model, 1, STOP, dialect=Dialect(stop_token="excluded"))
        except TypeError:
            pytest.skip("it takes no dialect")
        assert await collected(engine.generate(request(1, 2))) == [1001, 1002]
        assert await collected(engine.generate(request(1, 0))) == []

    run(main())
