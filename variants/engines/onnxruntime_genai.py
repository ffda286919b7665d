"""onnxruntime-genai's `Engine` with dynamic batching behind the engine profile: requests, turns and events.

| profile | onnxruntime-genai |
|---|---|
| slots | `engine.dynamic_batching.max_batch_size` of the model's configuration |
| `add_request` | `create_request`, and one `begin_turn`; from inside a model call it is done when `run` returns |
| `step` | one `run` that executes, after one that only hands out retained events where `cancel_turn` left some |
| `max_tokens`, stop | `TurnOptions.set_max_generated_tokens`, and `eos_token_id` of the configuration |
| `abort_request` | `cancel_turn`; from inside a model call it is done when `run` returns |
| endings | events with `TURN_FINISHED`; the request is closed then, as one that is not closed keeps its slot |
| ids | the engine gives handles; the names, and that a live one is refused, are this file's |

The model is in `exact_onnx.py`: an operator in Python reads every prefix from the engine's paged cache. Prefix caching
is on, with blocks of 4 tokens, so that it happens. Of endings this file adds those of requests that the engine never
saw. There is no preemption: where running requests fill the cache together, all stand still until one is aborted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime_genai as og

from reference.vocabulary import FinishReason, MockModel, Request, check_arguments
from variants.engines.exact import ANSWERED, Alphabet, StepOutput
from variants.engines.exact_onnx import RUNNING, VOCABULARY, built

ENGINE = "onnxruntime-genai Engine"
PACKAGES = ("onnxruntime-genai", "onnxruntime", "onnxruntime-extensions", "onnx")
EXTRA = "onnxruntime-genai"
NOTHING = -(10**15)  # what is read where nothing was written
REFUSES = {
    "empty prompt": "`begin_turn` raises RuntimeError: at least one input token is expected",
    "max_tokens 0": "0 means no limit to `set_max_generated_tokens`; this file ends such a request without the engine",
    "a failing call": "it is the end of the engine by design: all turns end as failed, and `run` raises from then on",
}
UNSEEN = ANSWERED
DIALECT = {"stop_token": "excluded"}  # the event that ends a turn with it has no token
POLICY: dict[str, tuple[str, str]] = {}
REASONS: dict[Any, FinishReason] = {
    og.FinishReason.EOS: "stop",
    og.FinishReason.MAX_GENERATED_TOKENS: "length",
    og.FinishReason.MAX_SESSION_TOKENS: "length",
    og.FinishReason.CANCELLED: "abort",
}


@dataclass(eq=False)
class Turn:
    """One submission; without a `handle` where the engine has not seen it yet, or never will."""

    request: Request
    handle: Any = None
    aborted: bool = False


class Engine:
    """One engine, its buffer of events, and the submissions by name and by handle."""

    def __init__(self, model: MockModel, num_slots: int, stop_token: int) -> None:
        check_arguments([], num_slots)
        self.model, self.alphabet = model, Alphabet(VOCABULARY)
        self.alphabet.ids((NOTHING, stop_token))  # the first two, so 0 and the graph's STOP
        self.engine = og.Engine(built(num_slots))
        self.buffer = self.engine.create_event_buffer(4 * num_slots + 64)
        self.live: dict[str, Turn] = {}
        self.turns: dict[Any, Turn] = {}
        self.unseen: list[Turn] = []  # over without the engine
        self.late: list[Turn] = []  # what was done to them inside a call waits
        self.stepping = self.retained = False
        self.failure: BaseException | None = None

    def add_request(self, request: Request) -> None:
        check_arguments([request], 1)
        if request.request_id in self.live:
            raise ValueError(f"{request.request_id!r} is live")
        turn = Turn(request)
        if request.max_tokens:
            self._now_or_late(turn)
        else:
            self.unseen.append(turn)
        self.live[request.request_id] = turn

    def abort_request(self, request_id: str) -> None:
        turn = self.live.pop(request_id, None)
        if turn is None:
            return
        turn.aborted = True
        if turn.handle:
            self._now_or_late(turn)
        elif turn in self.late:
            self.late.remove(turn)
            self.unseen.append(turn)

    def has_unfinished_requests(self) -> bool:
        return bool(self.live or self.turns or self.unseen)

    def step(self) -> list[StepOutput]:
        outputs, due = self._run() if self.retained else [], self.unseen
        self.retained, self.unseen = False, []
        told = self._run()
        for turn in due:
            outputs.append(StepOutput(turn.request.request_id, None, "abort" if turn.aborted else "length"))
            self._over(turn)
        return outputs + told

    def _run(self) -> list[StepOutput]:
        """Run once, and do what has waited for the end of the call; what the events tell."""
        self.stepping = True
        RUNNING.append(self)
        try:
            self.engine.run(self.buffer)
        finally:
            RUNNING.pop()
            self.stepping = False
        if self.failure is not None:
            raise self.failure
        told = [output for event in self.buffer for output in self._told(event)]
        late, self.late = self.late, []
        for turn in late:
            self._now_or_late(turn)
        return told

    def _told(self, event: Any) -> list[StepOutput]:
        if event.request is None:
            return []  # the cache is full, and everybody waits
        turn, reason = self.turns[event.request], REASONS.get(event.finish_reason)
        if reason:
            self._over(turn)
        if turn.aborted:
            return [StepOutput(turn.request.request_id, None, "abort")] if reason else []
        token = None if event.token is None else self.alphabet.token(event.token)
        return [StepOutput(turn.request.request_id, token, reason)]

    def _over(self, turn: Turn) -> None:
        if self.turns.pop(turn.handle, None):
            turn.handle.close()
        if not turn.aborted:
            del self.live[turn.request.request_id]

    def _now_or_late(self, turn: Turn) -> None:
        """Cancel the turn if it is aborted, else begin it; not while the engine runs."""
        if self.stepping:
            self.late.append(turn)
        elif turn.aborted:
            self.retained |= turn.handle in self.turns and turn.handle.cancel_turn(1)
        else:
            turn.handle = self.engine.create_request()
            options = og.TurnOptions(turn.handle)
            options.set_max_generated_tokens(turn.request.max_tokens)
            turn.handle.begin_turn(np.array(self.alphabet.ids(turn.request.prompt), np.int32), options)
            self.turns[turn.handle] = turn
