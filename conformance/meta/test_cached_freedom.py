"""What is free is free: an implementation that draws lots wherever there is a choice breaks no MUST."""

from __future__ import annotations

from itertools import chain, islice
from random import Random

from conformance.cached.catalogue import MUST, judge
from conformance.cached.driving import drive
from conformance.cached.mock import CachedMock
from conformance.cached.system import accepted
from conformance.legs import scope
from conformance.workloads import Workload
from reference.cached import CachedModel
from reference.vocabulary import Dialect, Request


class Lots:
    """A right `generate_cached` whose slots, pieces, order of rows and moments of emptying are drawn."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def __call__(
        self, model: CachedModel, requests: list[Request], num_slots: int, stop_token: int
    ) -> dict[str, list[int]]:
        results: dict[str, list[int]] = {request.request_id: [] for request in requests}
        waiting = [request for request in requests if request.max_tokens > 0]
        seats: dict[int, tuple[Request, list[int]]] = {}
        dirty = set(range(num_slots))
        while waiting or seats:
            self._empty_some(model, dirty)
            self._seat(model, waiting, seats, dirty, num_slots)
            batch = [(slot, self._piece(todo)) for slot, (_, todo) in seats.items()]
            self.random.shuffle(batch)
            for (slot, new), token in zip(batch, model.forward(batch), strict=True):
                request, todo = seats[slot]
                del todo[: len(new)]
                if todo:
                    continue
                results[request.request_id].append(token)
                todo.append(token)
                if token == stop_token or len(results[request.request_id]) == request.max_tokens:
                    del seats[slot]
                    dirty.add(slot)
        self._empty_some(model, dirty)
        return results

    def _empty_some(self, model: CachedModel, dirty: set[int]) -> None:
        for slot in [slot for slot in dirty if self.random.random() < 0.3]:
            model.reset(slot)
            if self.random.random() < 0.8:
                dirty.discard(slot)

    def _seat(
        self,
        model: CachedModel,
        waiting: list[Request],
        seats: dict[int, tuple[Request, list[int]]],
        dirty: set[int],
        num_slots: int,
    ) -> None:
        free = [slot for slot in range(num_slots) if slot not in seats]
        self.random.shuffle(free)
        while free and waiting:
            slot, request = free.pop(), waiting.pop(0)
            if slot in dirty:
                model.reset(slot)
                dirty.discard(slot)
            seats[slot] = (request, list(request.prompt))

    def _piece(self, todo: list[int]) -> list[int]:
        return todo[: self.random.randint(1, 3)]


def cases() -> list[Workload]:
    """Equal and nested prompts, equal rows with unequal replies, empty prompts, prompts of three tokens."""
    dialect = Dialect()
    some = islice(scope.three(dialect), 0, None, 16)
    alike = islice(scope.shared(dialect), 0, None, 4)
    return list(chain(some, alike, scope.sampled(dialect), islice(scope.empties(dialect), 0, None, 4)))


def test_whatever_lot_is_drawn_is_accepted() -> None:
    workloads = cases()
    for seed, workload in enumerate(workloads):
        run = drive(Lots(seed), workload)
        violations = {n: v for n, v in judge(run, Dialect()).violations.items() if n in MUST}
        assert not violations, (run, violations)
        assert accepted(run, Dialect()), run
    assert len(workloads) == 1_173


def test_lines_left_by_an_earlier_run_need_no_more_than_emptying() -> None:
    for seed, workload in enumerate(cases()[::20]):
        mock = CachedMock()
        for _ in range(2):
            run = drive(Lots(seed), workload, mock)
            assert not {n for n in judge(run, Dialect()).violations if n in MUST}, run
            assert accepted(run, Dialect()), run
