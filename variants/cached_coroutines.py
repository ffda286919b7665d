"""One coroutine a slot, which serves one request after another from the common queue.

It yields what is to be appended to its line, and is sent the reply. Emptying the line stands in a
`finally` beside the request's life, so it happens at the finish, and at a failure when the coroutine is
closed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Protocol

from reference.vocabulary import Request, check_arguments

Serving = Generator[list[int], int, None]


class CachedModel(Protocol):
    def forward(self, batch: list[tuple[int, list[int]]]) -> list[int]: ...

    def reset(self, slot: int) -> None: ...


def serve(
    line: int, model: CachedModel, queue: Iterator[Request], results: dict[str, list[int]], stop_token: int
) -> Serving:
    for request in queue:
        generated: list[int] = []
        try:
            new = list(request.prompt)
            while True:
                token = yield new
                generated.append(token)
                new = [token]
                if token == stop_token or len(generated) == request.max_tokens:
                    break
        finally:
            model.reset(line)
        results[request.request_id] = generated


def generate_cached(
    model: CachedModel, requests: list[Request], num_slots: int, stop_token: int
) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    queue = iter([request for request in requests if request.max_tokens > 0])
    servers = {line: serve(line, model, queue, results, stop_token) for line in range(min(num_slots, len(requests)))}
    batch = {line: new for line, server in servers.items() if (new := next(server, None)) is not None}
    try:
        while batch:
            lines = list(batch)
            tokens = model.forward(list(batch.items()))
            batch = {}
            for line, token in zip(lines, tokens, strict=True):
                try:
                    batch[line] = servers[line].send(token)
                except StopIteration:
                    continue  # nobody waits for this slot any more
        return results
    finally:
        for server in servers.values():
            server.close()
