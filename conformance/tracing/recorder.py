"""Record a run of `generate`, or the life of an `Engine`, as a trace, by standing between it and its neighbours.

with open("steps.jsonl", "wb") as file:
    results = record(generate, model, requests, num_slots, stop_token, file)

engine = RecordedEngine(lambda model: Engine(model, 4, 2), model, file, num_slots=4, stop_token=2)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

from conformance.run import chained, malformed_batch
from conformance.tracing import messages as m
from conformance.tracing.writing import ENCODER, header
from reference.vocabulary import Dialect, MockModel, Request


class Writer:
    """Write messages to a binary file, numbered."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._next = file, 0

    def __call__(self, message: m.Line) -> None:
        message.seq = self._next
        self._next += 1
        self._file.write(ENCODER.encode(message) + b"\n")


class RecordedModel:
    """A language model that writes down what it is asked and what it answers."""

    def __init__(self, model: MockModel, write: Writer) -> None:
        self._model, self._write = model, write
        self.failure: BaseException | None = None
        self.outside = False

    def next_tokens(self, batch: list[list[int]]) -> list[int]:
        wrong = malformed_batch(batch)
        self._write(m.Call(rows=[] if wrong else [list(row) for row in batch], malformed=wrong, outside=self.outside))
        try:
            tokens = self._model.next_tokens(batch)
        except BaseException as error:
            self.failure = error
            self._write(m.Reply(error=type(error).__name__))
            raise
        if not wrong:
            self._write(m.Reply(tokens=list(tokens)))
        return tokens


def record(
    generate: Callable[..., dict[str, list[int]]],
    model: MockModel,
    requests: Sequence[Request],
    num_slots: int,
    stop_token: int,
    *,
    file: BinaryIO,
    dialect: Dialect = Dialect(),
) -> dict[str, list[int]]:
    """Run `generate(model, requests, num_slots, stop_token)`, write its trace to `file`, and return what it returned.

    What it raises is recorded and raised again. `dialect` is written into the header; it changes nothing.
    """
    write = Writer(file)
    write(header(num_slots, stop_token, dialect, "generate"))
    for request in requests:
        write(m.Submit(id=request.request_id, prompt=list(request.prompt), max_tokens=request.max_tokens))
    watched = RecordedModel(model, write)
    try:
        results = generate(watched, list(requests), num_slots, stop_token)
    except BaseException as error:
        write(_raised(error, watched.failure))
        raise
    for name, tokens in results.items():
        write(m.Result(id=name, tokens=list(tokens)))
    write(m.Return())
    return results


class RecordedEngine:
    """An engine with the interface of `reference/engine.py` that writes down its life; `close` it at the end."""

    def __init__(
        self,
        make: Callable[[MockModel], Any],
        model: MockModel,
        file: BinaryIO,
        *,
        num_slots: int,
        stop_token: int,
        dialect: Dialect = Dialect(),
    ) -> None:
        self._write = Writer(file)
        self._write(header(num_slots, stop_token, dialect, "engine"))
        self._model = RecordedModel(model, self._write)
        self._engine = make(self._model)
        self._model.outside = True

    def add_request(self, request: Request) -> None:
        prompt, error = list(request.prompt), ""
        try:
            self._engine.add_request(request)
        except Exception as raised:
            error = "ValueError" if isinstance(raised, ValueError) else type(raised).__name__
            raise
        finally:
            self._write(m.Submit(id=request.request_id, prompt=prompt, max_tokens=request.max_tokens, error=error))

    def abort_request(self, request_id: str) -> None:
        error = ""
        try:
            self._engine.abort_request(request_id)
        except Exception as raised:
            error = type(raised).__name__
            raise
        finally:
            self._write(m.Abort(id=request_id, error=error))

    def step(self) -> list[Any]:
        self._model.outside = False
        try:
            outputs: list[Any] = self._engine.step()
        except BaseException as error:
            self._write(_raised(error, self._model.failure))
            raise
        finally:
            self._model.outside = True
        self._write(m.Emit(outputs=[(o.request_id, o.token, o.finish_reason) for o in outputs]))
        return outputs

    def has_unfinished_requests(self) -> bool:
        value = bool(self._engine.has_unfinished_requests())
        self._write(m.Unfinished(value=value))
        return value

    def close(self) -> None:
        """Say that the trace is complete."""
        self._write(m.Close())


def _raised(error: BaseException, failure: BaseException | None) -> m.Raise:
    surfaced = failure is not None and chained(error, failure)
    return m.Raise(kind=type(error).__name__, message=str(error)[:300], surfaced=surfaced)
