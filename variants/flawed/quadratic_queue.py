"""The queue is copied without its head for every admission, which is quadratic in the number of requests."""

from reference.vocabulary import check_arguments

BREAKS = ("scale/steady",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = [request for request in requests if request.max_tokens > 0]
    running = []
    while waiting or running:
        while waiting and len(running) < num_slots:
            head = waiting[0]
            running.append(head)
            waiting = [request for request in waiting if request is not head]
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in running])
        survivors = []
        for request, token in zip(running, tokens, strict=True):
            outputs[request.request_id].append(token)
            if token != stop_token and len(outputs[request.request_id]) < request.max_tokens:
                survivors.append(request)
        running = survivors
    return outputs
