"""pad/ignored: the reply to a pad row is nobody's."""

from __future__ import annotations

from conformance.absence import caused
from conformance.attribution import Attribution
from conformance.history import Returned
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    for absence in caused(found, "pad"):
        name = found.name(absence.request)
        wanted = f"a row of {name}, which has not finished"
        return Violation(absence.call, wanted, "it ended with a stop token that answered a pad row", absence.request)
    outcome = found.run.outcome
    if not found.clean or not isinstance(outcome, Returned) or found.unfinished:
        return None
    for index, ask in enumerate(found.run.workload.asks):
        for key, tokens in outcome.pairs:
            if key == ask.request_id and from_pads(found, index, list(tokens)):
                wanted = f"{found.outputs[key]} for {key!r}"
                return Violation(len(found.run.calls), wanted, f"{list(tokens)}, with replies to pad rows", index)
    return None


def from_pads(found: Attribution, request: int, tokens: list[int]) -> bool:
    """Whether `tokens` is the right output with replies to pad rows behind it."""
    right = found.outputs[found.run.workload.asks[request].request_id]
    if found.dialect.batch != "padded" or len(tokens) <= len(right) or tokens[: len(right)] != right:
        return False
    replies = [
        reply
        for owners, call in zip(found.owners, found.run.calls, strict=False)
        for owner, reply in zip(owners, call.replies or (), strict=False)
        if owner is None
    ]
    return all(token in replies for token in tokens[len(right) :])


def witness(found: Attribution) -> bool:
    """A pad row is answered with the stop token, or with a token like any other."""
    return found.dialect.batch == "padded" and any(None in owners for owners in found.owners)


INVARIANT = Invariant(
    level="MUST",
    sentence="What the model returns for a pad row (stop tokens, huge ids) reaches no output and finishes nothing.",
    why="A pad row is told from a real one by its place. Told by its value, it takes real requests with it.",
    seen_in=(
        "elixir-nx/bumblebee#419",
        "vllm-project/vllm#43810",
        "NVIDIA/TensorRT-LLM#13278",
        "huggingface/optimum-habana#1539",
    ),
    does_not_say="Anything of pads inside a key/value cache, which rows of tokens cannot show.",
    check=check,
    witness=witness,
    mutants=(
        Mutant(
            "            if slot is None:\n                continue\n            slot.generated",
            "            if slot is None and token == stop_token and any(slots):\n                return results\n"
            "            if slot is None:\n                continue\n            slot.generated",
            "batch=padded",
        ),
        Mutant(
            "            if slot is None:\n                continue\n            slot.generated",
            "            if slot is None:\n                done = [key for key in results if results[key]]\n"
            "                results[done[-1] if done else requests[0].request_id].append(token) if done else None\n"
            "                continue\n            slot.generated",
            "batch=padded",
        ),
    ),
)
