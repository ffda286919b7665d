"""An exception of the model ends the running requests quietly, and the run goes on with the waiting ones."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("failure/surfaces",)


class Engine:
    def __init__(self, model, num_slots, stop_token):
        self.model, self.num_slots, self.stop_token = model, num_slots, stop_token

    def ask(self, running, outputs):
        try:
            return self.model.next_tokens([request.prompt + outputs[request.request_id] for request in running])
        except Exception:
            return None

    def serve(self, requests):
        outputs = {request.request_id: [] for request in requests}
        waiting = deque(request for request in requests if request.max_tokens > 0)
        running = []
        while waiting or running:
            while waiting and len(running) < self.num_slots:
                running.append(waiting.popleft())
            tokens = self.ask(running, outputs)
            if tokens is None:
                running = []
                continue
            survivors = []
            for request, token in zip(running, tokens, strict=True):
                outputs[request.request_id].append(token)
                if token != self.stop_token and len(outputs[request.request_id]) < request.max_tokens:
                    survivors.append(request)
            running = survivors
        return outputs


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    return Engine(model, num_slots, stop_token).serve(requests)
