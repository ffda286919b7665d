"""A prompt is written in pieces, and a stop token that answers a piece ends the request."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("cache/in-step",)


def generate_cached(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    slots, todo = {}, {}
    try:
        while waiting or slots:
            for slot in range(num_slots):
                if slot not in slots and waiting:
                    slots[slot] = waiting.popleft()
                    todo[slot] = list(slots[slot].prompt)
            batch = [(slot, todo[slot][:2]) for slot in slots]
            tokens = model.forward(batch)
            for (slot, request), token in zip(list(slots.items()), tokens, strict=True):
                todo[slot] = todo[slot][2:]
                if todo[slot] and token != stop_token:
                    continue
                outputs[request.request_id].append(token)
                todo[slot] = [token]
                if token == stop_token or len(outputs[request.request_id]) == request.max_tokens:
                    del slots[slot]
                    model.reset(slot)
        return outputs
    finally:
        for slot in slots:
            model.reset(slot)
