"""A prompt in pieces is held up while anybody is decoding.

Seen in lablup/mlxcel#1013.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("cached:refill/immediate", "cached:slot/held")


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
            decoding = [slot for slot in slots if outputs[slots[slot].request_id]]
            sent = decoding or list(slots)
            tokens = model.forward([(slot, todo[slot][:2]) for slot in sent])
            for (slot, request), token in zip([(slot, slots[slot]) for slot in sent], tokens, strict=True):
                todo[slot] = todo[slot][2:]
                if todo[slot]:
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
