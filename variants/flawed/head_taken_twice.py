"""All slots that are free in one pass look at the same head of the queue, so one request gets several rows."""

from reference.vocabulary import check_arguments

BREAKS = ("row/prefix",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {request.request_id: [] for request in requests}
    queue = [request for request in requests if request.max_tokens > 0]
    head = 0
    slots = [None] * min(num_slots, len(queue))
    while True:
        free = [index for index, held in enumerate(slots) if held is None]
        for index in free if head < len(queue) else ():
            slots[index] = (queue[head], [])
        head += len(free)
        busy = [index for index, held in enumerate(slots) if held is not None]
        if not busy:
            return results
        tokens = model.next_tokens([slots[index][0].prompt + slots[index][1] for index in busy])
        for index, token in zip(busy, tokens, strict=True):
            request, generated = slots[index]
            generated.append(token)
            if token == stop_token or len(generated) == request.max_tokens:
                results[request.request_id] = generated
                slots[index] = None
