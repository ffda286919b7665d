"""Which part of a promise's sentence a violation breaks, in the words of the sentence."""

from __future__ import annotations

from conformance.catalogue import EVERY
from conformance.tracing.occurrences import Occurrence

# By name: what the cause is, or the beginning of what was expected; and the part. The first that fits is it.
PARTS: dict[str, tuple[tuple[str, str], ...]] = {
    "call/size": (
        ("a list of lists", "as a list of lists of ints"),
        ("at most", "A call carries at most `num_slots` sequences"),
    ),
    "call/needed": (("no call", "none after the last finish"), ("a row", "no empty call")),
    "row/prefix": (
        ("one row", "no request has two rows"),
        ("", 'Every row is "the full token prefix (prompt + generated so far)" of some request'),
    ),
    "admission/once": (("no second start", "it never starts again from its prompt, and never returns"),),
    "finish/length": (
        ("no row", "`max_tokens` generated tokens finish a request, never more"),
        ("a row", "without a stop token never fewer"),
    ),
    "zero/untouched": (
        ("no row", "is never sent"),
        ("[]", "A request with nothing to generate returns `[]`"),
        ("", "holds neither a slot nor the queue"),
    ),
    "run/ends": (
        ("the run to return", "The run returns"),
        ("another call", "not before every request has finished"),
    ),
    "arrival/next-call": (
        ("arrival refused", "A request can be added at any time"),
        ("not admitted", "is in the very next call if a slot is free for it"),
    ),
    "arrival/one-call": (
        ("too many rows", "of at most `num_slots` rows"),
        ("needless call", "none when nobody runs or waits"),
    ),
    "stream/one-ending": (("ending out of order", "before anything of a new"), ("", "exactly one ending")),
    "abort/frees-slot": (
        ("aborted row", "After an abort no call has a row of the request"),
        ("aborted seat", "its slot is free for the next call"),
    ),
    "id/reusable": (
        ("reuse refused", "an id can be used again at once"),
        ("", "the new request shares nothing with the old one"),
    ),
}


def failed_part(one: Occurrence) -> str:
    """The part that failed; the whole sentence where it has only one, or where none can be told."""
    sentence = EVERY[one.name].sentence
    for key, part in PARTS.get(one.name, ()):
        if (one.cause == key if one.cause and key else one.expected.startswith(key)) and part in sentence:
            return part
    return sentence
