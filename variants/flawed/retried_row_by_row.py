"""When a call raises, its rows are sent again one by one to find the offender."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("failure/surfaces",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    table, free = {}, list(range(min(num_slots, len(waiting))))
    while waiting or table:
        while waiting and free:
            table[free.pop()] = waiting.popleft()
        rows = [[*request.prompt, *outputs[request.request_id]] for request in table.values()]
        try:
            tokens = model.next_tokens([row.copy() for row in rows])
        except Exception:
            tokens = [token for row in rows for token in model.next_tokens([row])]
        for (slot, request), token in zip(list(table.items()), tokens, strict=True):
            outputs[request.request_id].append(token)
            if token == stop_token or len(outputs[request.request_id]) == request.max_tokens:
                free.append(slot)
                del table[slot]
    return outputs
