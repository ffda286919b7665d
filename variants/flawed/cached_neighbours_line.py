"""A newcomer's prompt is written into the line of the slot beside its own, where somebody is decoding."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("cache/slot-once",)


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
            running = [index for index in busy if outputs[slots[index].request_id]]
            seats = [index if index in running or index - 1 not in running else index - 1 for index in busy]
            tokens = model.forward([(seat, pending[index]) for seat, index in zip(seats, busy, strict=True)])
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
