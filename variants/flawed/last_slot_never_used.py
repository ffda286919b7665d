"""One slot of several is kept in reserve and never gets a request."""

from reference.vocabulary import check_arguments

BREAKS = ("refill/immediate",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {request.request_id: [] for request in requests}
    waiting = (request for request in requests if request.max_tokens > 0)
    agenda = []

    def ask(request, generated):
        def resume(token):
            generated.append(token)
            if token == stop_token or len(generated) == request.max_tokens:
                results[request.request_id] = generated
                admit()
            else:
                ask(request, generated)

        agenda.append((request.prompt + generated, resume))

    def admit():
        request = next(waiting, None)
        if request is not None:
            ask(request, [])

    for _ in range(min(max(1, num_slots - 1), len(requests))):
        admit()
    while agenda:
        step = agenda[:]
        agenda.clear()
        tokens = model.next_tokens([row for row, _ in step])
        for (_, resume), token in zip(step, tokens, strict=True):
            resume(token)
    return results
