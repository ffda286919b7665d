"""Every choice taken the other way: padded rows, a limit on the whole sequence, no stop token in the output.

The three choices meet in three lines: which requests wait, what is sent, what is kept.
"""

from __future__ import annotations

from reference.vocabulary import MockModel, Request, check_arguments

DIALECT = {"max_tokens": "total", "stop_token": "excluded", "batch": "padded"}


def generate(model: MockModel, requests: list[Request], num_slots: int, stop_token: int) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    waiting = iter([request for request in requests if request.max_tokens > len(request.prompt)])
    slots = dict(zip(range(num_slots), waiting, strict=False))
    while slots:
        held = {slot: [*one.prompt, *results[one.request_id]] for slot, one in slots.items()}
        tokens = model.next_tokens([held.get(slot, []) for slot in range(num_slots)])
        if len(tokens) != num_slots:
            raise ValueError(f"{num_slots} rows were sent, and {len(tokens)} tokens came back")
        for slot, one in list(slots.items()):
            output, token = results[one.request_id], tokens[slot]
            if token != stop_token:
                output.append(token)
            if token == stop_token or len(one.prompt) + len(output) == one.max_tokens:
                del slots[slot]
                for newcomer in waiting:
                    slots[slot] = newcomer
                    break
    return results
