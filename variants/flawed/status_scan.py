"""Every step walks over all requests, finished and waiting ones too, to find out what each is doing."""

from enum import Enum, auto

from reference.vocabulary import check_arguments

BREAKS = ("scale/steady",)


class Status(Enum):
    WAITING = auto()
    RUNNING = auto()
    FINISHED = auto()


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    status = [Status.WAITING if request.max_tokens > 0 else Status.FINISHED for request in requests]
    while True:
        room = num_slots - status.count(Status.RUNNING)
        for index, state in enumerate(status):
            if state is Status.WAITING and room > 0:
                status[index] = Status.RUNNING
                room -= 1
        running = [index for index, state in enumerate(status) if state is Status.RUNNING]
        if not running:
            return outputs
        tokens = model.next_tokens([requests[i].prompt + outputs[requests[i].request_id] for i in running])
        for index, token in zip(running, tokens, strict=True):
            output = outputs[requests[index].request_id]
            output.append(token)
            if token == stop_token or len(output) == requests[index].max_tokens:
                status[index] = Status.FINISHED
