"""An asyncio task a slot: it awaits one token after the other, as if it had the model for itself.

The event loop stops once every task has asked, and the model is called between two turns of the loop.
So whatever the model raises passes through no task, and the model may itself run a loop.
"""

from __future__ import annotations

import asyncio
from collections import deque

from reference.vocabulary import MockModel, Request, check_arguments


def generate(model: MockModel, requests: list[Request], num_slots: int, stop_token: int) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    if not waiting:
        return results
    asked: list[tuple[list[int], asyncio.Future[int]]] = []

    async def worker() -> None:
        while waiting:
            request = waiting.popleft()
            generated = results[request.request_id]
            while len(generated) < request.max_tokens:
                reply = loop.create_future()
                asked.append((request.prompt + generated, reply))
                generated.append(await reply)
                if generated[-1] == stop_token:
                    break

    def turn() -> None:
        # Callbacks run in the order in which they were scheduled: every task that can go on does so before the stop.
        loop.call_soon(loop.stop)
        loop.run_forever()

    loop = asyncio.new_event_loop()
    tasks = [loop.create_task(worker()) for _ in range(min(num_slots, len(waiting)))]
    try:
        turn()
        while asked:
            batch = asked.copy()
            asked.clear()
            tokens = model.next_tokens([row for row, _ in batch])
            if len(tokens) != len(batch):
                raise ValueError(f"{len(batch)} rows were sent, and {len(tokens)} tokens came back")
            for (_, reply), token in zip(batch, tokens, strict=True):
                reply.set_result(token)
            turn()
    finally:
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.wait(tasks))
        loop.close()
    return results
