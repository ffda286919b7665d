"""The caller's list is the queue, and is empty afterwards."""

from reference.vocabulary import check_arguments

BREAKS = ("input/unchanged",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    requests.reverse()
    running = []
    while requests or running:
        while requests and len(running) < num_slots:
            request = requests.pop()
            if request.max_tokens > 0:
                running.append(request)
        if not running:
            break
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in running])
        for request, token in zip(running, tokens, strict=True):
            outputs[request.request_id].append(token)
        running = [
            request
            for request in running
            if outputs[request.request_id][-1] != stop_token and len(outputs[request.request_id]) < request.max_tokens
        ]
    return outputs
