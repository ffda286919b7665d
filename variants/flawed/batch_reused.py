"""One batch of lists lives through the whole run: rows that the model has seen grow under its hands."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("row/private",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    owners, batch = [], []
    while waiting or owners:
        while waiting and len(owners) < num_slots:
            owners.append(waiting.popleft())
            batch.append(list(owners[-1].prompt))
        tokens = model.next_tokens(batch)
        if len(tokens) != len(owners):
            raise ValueError("one token a row, please")
        for index in reversed(range(len(owners))):
            output = outputs[owners[index].request_id]
            output.append(tokens[index])
            batch[index].append(tokens[index])
            if tokens[index] == stop_token or len(output) == owners[index].max_tokens:
                del owners[index], batch[index]
    return outputs
