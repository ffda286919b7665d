"""Every step calls itself for the next, and a long run hits the recursion limit."""

from reference.vocabulary import check_arguments

BREAKS = ("run/ends",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    arrivals = tuple(request for request in requests if request.max_tokens > 0)

    def step(running, upcoming, results):
        until = min(len(arrivals), upcoming + num_slots - len(running))
        running = (*running, *((request, ()) for request in arrivals[upcoming:until]))
        if not running:
            return results
        tokens = model.next_tokens([[*request.prompt, *generated] for request, generated in running])
        moved = [(request, (*old, token)) for (request, old), token in zip(running, tokens, strict=True)]
        full = [new[-1] == stop_token or len(new) == request.max_tokens for request, new in moved]
        ended = {request.request_id: list(new) for (request, new), over in zip(moved, full) if over}
        return step(tuple(one for one, over in zip(moved, full) if not over), until, results | ended)

    return step((), 0, {request.request_id: [] for request in requests})
