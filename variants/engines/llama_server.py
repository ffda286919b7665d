"""llama.cpp's server, in this process by `xllamacpp`, behind the engine profile: `/completion`, as a client sees it.

| profile | llama.cpp |
|---|---|
| engine | a server of its own, with `n_parallel` = `num_slots`, and everything else of it as it comes |
| `add_request` | a streamed `POST /completion` on a connection of its own, with token ids |
| `max_tokens`, stop | `n_predict`; `stop` with the one string that is the stop token's text and no other's |
| `abort_request` | the connection is closed |
| ids | the server has none; the names, and that a live one is refused, are this file's |

The server runs on by itself, and its batches cannot be seen. So the steps are this file's: in each, the first
`num_slots` live requests hand out the next token that has come, and a row is the prompt and what was handed out before.
What that cannot show is in `UNSEEN`. The weights are random, f32 as is the cache. What a prefix is answered is asked
of a second server with one slot, one request at a time and no cache kept (`PURE_MODEL`); where the two
likeliest tokens are closer than `MARGIN`, rounding could decide, and a script that comes there is not tried.
"""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from http.client import HTTPConnection, HTTPException
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import xllamacpp

from reference.vocabulary import FinishReason, MockModel, Request, check_arguments
from variants.engines.exact import ANSWERED, StepOutput
from variants.engines.llama_gguf import FIRST, VOCABULARY, model_file, text

ENGINE = "llama.cpp server"
PACKAGES = ("xllamacpp", "gguf")
EXTRA = "llama"
REFUSES = {
    "empty prompt": 'the server answers 400, "prompt" must not be empty',
    "a failing call": "the model is the server's own, and cannot be made to fail",
    "an act inside a call": "calls are the server's own, and nothing of ours runs inside",
}
UNSEEN = {
    **dict.fromkeys(
        ("arrival/fifo", "arrival/next-call", "arrival/one-call", "stream/immediate", "abort/frees-slot"),
        "the server's batches cannot be seen from outside: the steps are the adapter's",
    ),
    "stream/exact-prefix": "rows are put together by the adapter; a wrong prefix shows in a wrong token",
    **ANSWERED,
}
CONTEXT = 128  # tokens in one slot
MARGIN = 1e-3  # in log probability
PATIENCE = 3.0  # seconds without a token of somebody who should have one
AHEAD = 12  # tokens that the second server is asked for at once
REASONS: dict[str, FinishReason] = {"word": "stop", "limit": "length"}


def to_id(token: int) -> int:
    """The vocabulary's id of any token; what the model generates is its own id."""
    return token if FIRST <= token < VOCABULARY else FIRST + token % (VOCABULARY - FIRST)


def served(num_slots: int) -> Any:
    """Start a server on a free port."""
    params: Any = xllamacpp.CommonParams()
    params.model.path = model_file()
    params.n_parallel, params.n_ctx, params.n_gpu_layers = num_slots, CONTEXT * num_slots, 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.port, params.warmup, params.verbosity = 0, False, -1
    params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.endpoint_slots = True
    server = xllamacpp.Server(params)
    connection = HTTPConnection(server.listening_address.removeprefix("http://"))
    connection.request("GET", "/slots")  # answered by the server's loop: deleted before that runs, it hangs for ever
    connection.getresponse().read()
    connection.close()
    return server


def asked(server: Any, ids: list[int], limit: int, **more: Any) -> HTTPConnection:
    """Send a request; the answer is the caller's to read."""
    connection = HTTPConnection(server.listening_address.removeprefix("http://"))
    body = {"prompt": ids, "n_predict": limit, "temperature": 0, "return_tokens": True, **more}
    connection.request("POST", "/completion", json.dumps(body), {"Content-Type": "application/json"})
    return connection


alone = cache(lambda: served(1))
known: dict[tuple[int, ...], int | None] = {}


def PURE_MODEL(prefix: tuple[int, ...]) -> int:
    """Answer a prefix. Raises LookupError where two tokens are too close to tell."""
    ids = grown = tuple(map(to_id, prefix))
    if ids not in known:
        connection = asked(alone(), list(ids), AHEAD, n_probs=2, cache_prompt=False)
        for one in json.load(connection.getresponse())["completion_probabilities"]:
            first, second = (top["logprob"] for top in one["top_logprobs"])
            known[grown] = one["id"] if first - second > MARGIN else None
            grown = (*grown, one["id"])
        connection.close()
    if (token := known[ids]) is None:
        raise LookupError(f"two tokens are too close after {prefix}")
    return token


class Stream:
    """A request on its way, and what has come of it: tokens, and then how it ended."""

    def __init__(self, server: Any, request: Request, stop: str) -> None:
        self.limit, self.prompt = request.max_tokens, list(request.prompt)
        self.came: SimpleQueue[int | str] = SimpleQueue()
        self.next: int | str | None = None
        ids = [to_id(token) for token in request.prompt]
        self.connection = asked(server, ids, request.max_tokens, stream=True, stop=[stop])
        self.socket = self.connection.sock
        self.reader = Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        with suppress(OSError, HTTPException, ValueError, AttributeError):  # of a connection that was closed
            for line in self.connection.getresponse():
                if line.startswith(b"data: {"):
                    event = json.loads(line[6:])
                    for token in event.get("tokens", []):
                        self.came.put(token)
                    if event.get("stop"):
                        self.came.put(event["stop_type"])
                elif line.startswith(b"{"):
                    self.came.put(f"refused: {line.decode()}")

    def peek(self) -> int | str | None:
        """What comes next, waited for; None where nothing comes."""
        if self.next is None:
            with suppress(Empty):
                self.next = self.came.get(timeout=PATIENCE)
        return self.next

    def close(self) -> None:
        with suppress(OSError):
            self.socket.shutdown(2)
        self.reader.join()
        self.connection.close()


class Engine:
    """One server, and a connection for each live request."""

    def __init__(self, model: MockModel, num_slots: int, stop_token: int) -> None:
        check_arguments([], num_slots)
        self.model, self.num_slots = model, num_slots
        self.stop = text(to_id(stop_token)).decode()
        self.server = served(num_slots)
        self.live: dict[str, Stream] = {}
        self.ended: list[StepOutput] = []

    def add_request(self, request: Request) -> None:
        check_arguments([request], 1)
        if request.request_id in self.live:
            raise ValueError(f"{request.request_id!r} is live")
        self.live[request.request_id] = Stream(self.server, request, self.stop)

    def abort_request(self, request_id: str) -> None:
        stream = self.live.pop(request_id, None)
        if stream is not None:
            stream.close()
            self.ended.append(StepOutput(request_id, None, "abort"))

    def has_unfinished_requests(self) -> bool:
        return bool(self.live or self.ended)

    def step(self) -> list[StepOutput]:
        outputs, self.ended = self.ended, []
        rows: list[list[int]] = []
        for name, stream in sorted(self.live.items(), key=lambda item: item[1].limit > 0):  # none to generate: no slot
            token = stream.peek() if len(rows) < self.num_slots or not stream.limit else None
            if isinstance(token, int):
                rows.append(list(stream.prompt))
                stream.prompt.append(token)
                stream.next = None
            ending = stream.peek() if token is not None else None
            if isinstance(ending, str):
                outputs.append(StepOutput(name, token if isinstance(token, int) else None, REASONS[ending]))
                self.live.pop(name).close()
            elif isinstance(token, int):
                outputs.append(StepOutput(name, token, None))
        if rows:
            self.model.next_tokens(rows)
        return outputs

    def close(self) -> None:
        for stream in self.live.values():
            stream.close()
        del self.server
