"""A thread a slot, and a barrier: the last thread to arrive calls the model for all.

The threads race for the waiting requests, and nobody can tell: which slot a request gets is free, and
the rows are put in order of admission. A barrier is what "one step of the whole batch" means in threads.
"""

from __future__ import annotations

from collections import deque
from threading import Barrier, Thread

from reference.vocabulary import MockModel, Request, check_arguments

# Beyond this a thread looks after several slots.
MOST_THREADS = 32


class Step:
    """The meeting point; rows and replies are keyed by order of arrival."""

    def __init__(self, model: MockModel, num_threads: int) -> None:
        self.model = model
        self.rows: dict[int, list[int]] = {}
        self.replies: dict[int, int] = {}
        self.failure: BaseException | None = None
        self.barrier = Barrier(num_threads, action=self.call)

    def exchange(self, rows: dict[int, list[int]]) -> dict[int, int]:
        self.rows.update(rows)
        self.barrier.wait()
        return self.replies

    def call(self) -> None:
        sent = sorted(self.rows.items())
        self.rows, self.replies = {}, {}
        try:
            tokens = self.model.next_tokens([row for _, row in sent]) if sent else []
            self.replies = {arrival: token for (arrival, _), token in zip(sent, tokens, strict=True)}
        except BaseException as failure:
            # Noted here, before the barrier breaks for the others: theirs is only a consequence.
            self.failure = failure
            raise

    def fail(self, failure: BaseException) -> None:
        if self.failure is None:
            self.failure = failure
        self.barrier.abort()


def generate(model: MockModel, requests: list[Request], num_slots: int, stop_token: int) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    waiting = deque((arrival, request) for arrival, request in enumerate(requests) if request.max_tokens > 0)
    if not waiting:
        return results

    def serve(slots: int) -> None:
        running: dict[int, Request] = {}
        try:
            while True:
                while len(running) < slots:
                    try:
                        arrival, request = waiting.popleft()
                    except IndexError:
                        break
                    running[arrival] = request
                replies = step.exchange({arrival: r.prompt + results[r.request_id] for arrival, r in running.items()})
                if not replies:
                    return
                for arrival, request in list(running.items()):
                    generated = results[request.request_id]
                    generated.append(replies[arrival])
                    if generated[-1] == stop_token or len(generated) == request.max_tokens:
                        del running[arrival]
        except BaseException as failure:
            step.fail(failure)

    count = min(MOST_THREADS, num_slots, len(waiting))
    step = Step(model, count)
    shares = [num_slots // count + (index < num_slots % count) for index in range(count)]
    # The caller's thread is one of them: a single slot starts no thread.
    threads = [Thread(target=serve, args=(share,)) for share in shares[1:]]
    try:
        for thread in threads:
            thread.start()
    except BaseException as failure:
        step.fail(failure)
    serve(shares[0])
    for thread in threads:
        if thread.ident is not None:
            thread.join()
    if step.failure is not None:
        raise step.failure
    return results
