"""Where the stop token comes in the last allowed position, the ending goes out without its token."""

from collections import deque, namedtuple

from reference.vocabulary import check_arguments

BREAKS = ("stream/immediate",)
StepOutput = namedtuple("StepOutput", "request_id token finish_reason")


class Sequence:
    def __init__(self, request):
        self.request_id, self.max_tokens = request.request_id, request.max_tokens
        self.tokens, self.generated, self.reason = list(request.prompt), 0, None


class Engine:
    def __init__(self, model, num_slots, stop_token):
        check_arguments([], num_slots)
        self.model, self.num_slots, self.stop_token = model, num_slots, stop_token
        self.waiting, self.running = deque(), []
        self.live, self.endings = {}, []

    def add_request(self, request):
        check_arguments([request], self.num_slots)
        if request.request_id in self.live:
            raise ValueError(f"the id {request.request_id!r} is in use")
        sequence = Sequence(request)
        self.live[request.request_id] = sequence
        if sequence.max_tokens:
            self.waiting.append(sequence)
        else:
            sequence.reason = "length"
            self.endings.append(sequence)

    def abort_request(self, request_id):
        sequence = self.live.pop(request_id, None)
        if sequence is None:
            return
        if sequence in self.waiting:
            self.waiting.remove(sequence)
        if sequence in self.running:
            self.running.remove(sequence)
        if sequence.reason is None:
            self.endings.append(sequence)
        sequence.reason = "abort"

    def has_unfinished_requests(self):
        return bool(self.live or self.endings)

    def step(self):
        while self.waiting and len(self.running) < self.num_slots:
            self.running.append(self.waiting.popleft())
        batch = list(self.running)
        tokens = self.model.next_tokens([list(sequence.tokens) for sequence in batch]) if batch else []
        if len(tokens) != len(batch):
            raise ValueError(f"{len(tokens)} tokens for {len(batch)} rows")
        outputs = self.deliver()
        for sequence, token in zip(batch, tokens):
            if sequence.reason is None:
                outputs.append(self.take(sequence, token))
        return outputs

    def deliver(self):
        ended, self.endings = self.endings, []
        for sequence in ended:
            if self.live.get(sequence.request_id) is sequence:
                del self.live[sequence.request_id]
        return [StepOutput(sequence.request_id, None, sequence.reason) for sequence in ended]

    def take(self, sequence, token):
        sequence.tokens.append(token)
        sequence.generated += 1
        if token == self.stop_token:
            sequence.reason = "stop"
        elif sequence.generated == sequence.max_tokens:
            sequence.reason = "length"
        if sequence.reason:
            self.running.remove(sequence)
            del self.live[sequence.request_id]
        both = token == self.stop_token and sequence.generated == sequence.max_tokens
        return StepOutput(sequence.request_id, None if both else token, sequence.reason)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    engine, results = Engine(model, num_slots, stop_token), {request.request_id: [] for request in requests}
    for request in requests:
        engine.add_request(request)
    while engine.has_unfinished_requests():
        for output in engine.step():
            results[output.request_id] += [output.token] if output.token is not None else []
    return results
