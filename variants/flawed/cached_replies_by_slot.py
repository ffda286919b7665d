"""The reply is looked up by the number of the slot, and the batch has rows of busy slots only.

Seen in torch-spyre/sendnn-inference#33.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("cached:row/reply", "cached:output/own", "cached:run/ends")


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
            tokens = model.forward([(index, pending[index]) for index in busy])
            for index in busy:
                token = tokens[index % len(tokens)]
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
