"""An engine for readers: `async for token in engine.generate(request)`, as many at once as there are readers.

One task owns the `Engine`, and nobody else touches it: readers leave notes, which the task carries out
between two steps. The model works in a thread, so that the event loop is free while it does. Each reader
has a queue of its own, which holds at most its request's tokens: whoever reads slowly delays nobody.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from functools import partial
from itertools import count

from reference.engine import Engine, StepOutput
from reference.vocabulary import Dialect, MockModel, Request, check_arguments


class AsyncEngine:
    """Continuous batching behind async generators, one for each request, in one asyncio event loop.

    Ids are the callers' own business here: each submission runs under a number, so that a late token of
    an old one cannot reach a new one, and two readers may use one id.
    """

    def __init__(self, model: MockModel, num_slots: int, stop_token: int, *, dialect: Dialect = Dialect()) -> None:
        self._engine = Engine(model, num_slots, stop_token, dialect=dialect)
        self._notes: deque[Callable[[], None]] = deque()
        self._readers: dict[str, asyncio.Queue[StepOutput | BaseException]] = {}
        self._numbers = count()
        self._serving: asyncio.Task[None] | None = None

    async def generate(self, request: Request) -> AsyncGenerator[int, None]:
        """Yield the tokens of `request` as they are generated; return when it ends.

        To leave is to abort: by closing the generator, by cancelling the task that reads, or by leaving the
        loop, when nothing else holds the generator (`contextlib.aclosing` does not wait for that). Raises
        ValueError for a negative `max_tokens`, and what the model raised in a call while the request was live.
        """
        check_arguments([request], 1)
        number = str(next(self._numbers))
        mine = replace(request, request_id=number, prompt=list(request.prompt))
        reader: asyncio.Queue[StepOutput | BaseException] = asyncio.Queue()
        self._leave_note(partial(self._enter, mine, reader))
        try:
            while True:
                output = await reader.get()
                if isinstance(output, BaseException):
                    raise output
                if output.token is not None:
                    yield output.token
                if output.finish_reason is not None:
                    return
        finally:
            self._leave_note(partial(self._leave, number))

    def _enter(self, request: Request, reader: asyncio.Queue[StepOutput | BaseException]) -> None:
        self._readers[request.request_id] = reader
        self._engine.add_request(request)

    def _leave(self, number: str) -> None:
        """Forget a reader; where its request has ended, the abort has no effect."""
        del self._readers[number]
        self._engine.abort_request(number)

    def _leave_note(self, note: Callable[[], None]) -> None:
        self._notes.append(note)
        if self._serving is None or self._serving.done():
            self._serving = asyncio.get_running_loop().create_task(self._serve())

    async def _serve(self) -> None:
        """Step as long as a request is unfinished; the next note starts it again."""
        while True:
            while self._notes:
                self._notes.popleft()()
            if not self._engine.has_unfinished_requests():
                return
            self._hand_out(await asyncio.to_thread(self._step))

    def _step(self) -> list[StepOutput] | BaseException:
        """Step. A failure is returned: raised into a task, StopIteration and CancelledError mean something else."""
        try:
            return self._engine.step()
        except BaseException as error:
            return error

    def _hand_out(self, outputs: list[StepOutput] | BaseException) -> None:
        if isinstance(outputs, BaseException):
            # Who the offender was is not known, and the next step would run into it again: all end, none hangs.
            for number, reader in self._readers.items():
                reader.put_nowait(outputs)
                self._engine.abort_request(number)
            return
        for output in outputs:
            if output.request_id in self._readers:
                self._readers[output.request_id].put_nowait(output)
