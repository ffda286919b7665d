"""prompt/inert: the prompt is not output."""

from __future__ import annotations

from dataclasses import replace

from conformance.absence import caused
from conformance.attribution import Attribution
from conformance.invariant import Invariant, Mutant, Violation
from conformance.workloads import Workload


def check(found: Attribution) -> Violation | None:
    for absence in caused(found, "prompt"):
        ask, done = found.run.workload.asks[absence.request], len(found.ledger.generated[absence.request])
        limit = found.limits[absence.request]
        return Violation(
            absence.call,
            f"a row of {ask.request_id!r}, which has {done} of {limit} tokens and no stop token among them",
            f"it ended there; its prompt {list(ask.prompt)} seems to count",
            absence.request,
            counted=found.dialect.max_tokens == "total",
        )
    return None


def control(workload: Workload, violation: Violation) -> Workload:
    """The same with prompts that explain nothing: without stop token; the one that filled its limit is empty."""
    asks = []
    for index, ask in enumerate(workload.asks):
        prompt = tuple(10**6 + index if token == workload.stop_token else token for token in ask.prompt)
        prompt = prompt or (10**6 + index,)
        if index == violation.request and prompt == ask.prompt:
            prompt = ()
        shift = len(prompt) - len(ask.prompt) if violation.counted else 0
        asks.append(ask._replace(prompt=prompt, max_tokens=ask.max_tokens + shift))
    return replace(workload, asks=tuple(asks))


def witness(found: Attribution) -> bool:
    """A prompt holds the stop token, or is as long as the limit, and the request generates more than one token."""
    workload = found.run.workload
    return any(
        (workload.stop_token in ask.prompt or len(ask.prompt) >= ask.max_tokens) and len(tokens) > 1
        for ask, tokens in zip(workload.asks, found.ledger.generated, strict=True)
    )


INVARIANT = Invariant(
    level="MUST",
    sentence='Apart from the dialect\'s limit, the prompt finishes nothing: only what "the model generates" does. '
    "Judged when a request ends early, or is never served, and its prompt explains it.",
    why="Chat prompts are full of stop tokens, and an empty prompt is a legal one.",
    seen_in=(
        "microsoft/onnxruntime-genai#1694",
        "huggingface/transformers#25790",
        "vllm-project/vllm#7283",
        "ggml-org/llama.cpp#5246",
    ),
    does_not_say="That the prompt may not count for the limit: under `max_tokens=total` it does.",
    check=check,
    witness=witness,
    control=control,
    mutants=(
        Mutant("token == stop_token or", "stop_token in slot.prefix() or"),
        Mutant("len(slot.generated) == dialect.limit", "len(slot.prefix()) >= dialect.limit"),
        Mutant("if dialect.limit(request) > 0)", "if request.prompt and dialect.limit(request) > 0)"),
    ),
)
