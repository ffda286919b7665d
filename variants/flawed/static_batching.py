"""A new batch is formed only when every request of the old one has finished: static batching.

Seen in EricLBuehler/candle-vllm#156.
"""

from reference.vocabulary import check_arguments

BREAKS = ("refill/immediate",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    live = [request for request in requests if request.max_tokens > 0]
    for start in range(0, len(live), num_slots):
        batch = live[start : start + num_slots]
        while batch:
            tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in batch])
            if len(tokens) != len(batch):
                raise ValueError("one token a row, please")
            for request, token in zip(batch, tokens):
                outputs[request.request_id].append(token)
            batch = [
                request
                for request in batch
                if outputs[request.request_id][-1] != stop_token
                and len(outputs[request.request_id]) < request.max_tokens
            ]
    return outputs
