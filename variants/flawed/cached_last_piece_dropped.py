"""A prompt is written in pieces of two, and a last piece of one is forgotten."""

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
                    prompt = slots[slot].prompt
                    todo[slot] = prompt[: len(prompt) // 2 * 2] or list(prompt)
            batch = [(slot, todo[slot][:2]) for slot in slots]
            tokens = model.forward(batch)
            for (slot, request), token in zip(list(slots.items()), tokens, strict=True):
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
