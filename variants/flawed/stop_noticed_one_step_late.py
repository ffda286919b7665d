"""The stop token is noticed only after one more token, because the test reads the last token but one."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("finish/stop",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    free = list(range(min(num_slots, len(waiting))))
    table = {}

    def over(request):
        output = outputs[request.request_id]
        return output[-2:-1] == [stop_token] or len(output) == request.max_tokens

    while waiting or table:
        while waiting and free:
            table[free.pop()] = waiting.popleft()
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in table.values()])
        for request, token in zip(table.values(), tokens, strict=True):
            outputs[request.request_id].append(token)
        for slot in [slot for slot, request in table.items() if over(request)]:
            del table[slot]
            free.append(slot)
    return outputs
