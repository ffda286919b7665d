"""Idle slots are sent as slot -1, to keep the batch's shape; an array of lines takes it for the last one.

Seen in vllm-project/vllm#43810.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("cache/slot-range",)


def generate_cached(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    slots = [None] * num_slots
    pending = [[] for _ in slots]
    try:
        while True:
            for index in range(num_slots):
                if slots[index] is None and waiting:
                    slots[index] = waiting.popleft()
                    pending[index] = list(slots[index].prompt)
            busy = [index for index in range(num_slots) if slots[index] is not None]
            if not busy:
                return outputs
            batch = [(index, pending[index]) for index in busy]
            batch += [(-1, [0])] * (num_slots - len(busy))
            tokens = model.forward(batch)[: len(busy)]
            for index, token in zip(busy, tokens, strict=True):
                request = slots[index]
                outputs[request.request_id].append(token)
                pending[index] = [token]
                if token == stop_token or len(outputs[request.request_id]) == request.max_tokens:
                    slots[index] = None
                    model.reset(index)
    finally:
        for index in range(num_slots):
            if slots[index] is not None:
                model.reset(index)
