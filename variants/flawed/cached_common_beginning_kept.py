"""A line is kept where the newcomer's prompt is its beginning, but not cut back to it.

Seen in waybarrios/vllm-mlx#384, where the length was cut back and the contents were not.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("cache/fresh",)


def generate_cached(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    slots = [None] * num_slots
    pending = [[] for _ in slots]
    lines = [[] for _ in slots]
    try:
        while True:
            for index in range(num_slots):
                if slots[index] is None and waiting:
                    slots[index] = waiting.popleft()
                    pending[index] = list(slots[index].prompt)
                    kept, prompt = lines[index], slots[index].prompt
                    if prompt and kept[: len(prompt)] == prompt:
                        pending[index] = prompt[-1:]
                    else:
                        model.reset(index)
                        lines[index] = []
            busy = [index for index in range(num_slots) if slots[index] is not None]
            if not busy:
                return outputs
            tokens = model.forward([(index, pending[index]) for index in busy])
            for index in busy:
                lines[index] += pending[index]
            for index, token in zip(busy, tokens, strict=True):
                request = slots[index]
                outputs[request.request_id].append(token)
                pending[index] = [token]
                if token == stop_token or len(outputs[request.request_id]) == request.max_tokens:
                    slots[index] = None
    finally:
        for index in range(num_slots):
            model.reset(index)
