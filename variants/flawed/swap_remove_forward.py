"""A freed place is filled from the end while walking forwards, so who moves there gets the token of the next row."""

from reference.vocabulary import check_arguments

BREAKS = ("row/reply",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    stack = [request for request in reversed(requests) if request.max_tokens > 0]
    batch = []
    while stack or batch:
        while stack and len(batch) < num_slots:
            batch.append(stack.pop())
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in batch])
        if len(tokens) != len(batch):
            raise ValueError("one token a row, please")
        place = 0
        for token in tokens[: len(batch)]:
            if place >= len(batch):
                break
            output = outputs[batch[place].request_id]
            output.append(token)
            if token == stop_token or len(output) == batch[place].max_tokens:
                last = batch.pop()
                if place < len(batch):
                    batch[place] = last
            else:
                place += 1
    return outputs
