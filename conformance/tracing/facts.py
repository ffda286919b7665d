"""What a trace says, and so which promises it can show; why it cannot show the others."""

from __future__ import annotations

from conformance.catalogue import CATALOGUE, EVERY
from conformance.engine.catalogue import ENGINE
from conformance.tracing import messages as m

SILENT = {
    "arguments/rejected": "what refused arguments got",
    "failure/any-class": "what became of unusual exceptions",
    "id/independent": "what other engines of the process did",
    "input/unchanged": "whether the requests were changed",
    "arrival/unchanged": "whether the requests were changed",
    "failure/resumable-odd-reply": "what became of replies of a wrong length",
    "reply/checked": "what became of replies of a wrong length",
    "row/private": "what the model did to its rows",
    "stream/private-rows": "what the model did to its rows",
    "run/independent": "what other runs of the process did",
    "scale/steady": "how long the calls took",
}
LACKING: dict[str, dict[str, str]] = {
    "results": dict.fromkeys(("output/own", "output/complete"), "what was returned"),
    "arrivals": dict.fromkeys(("arrival/fifo", "arrival/next-call"), "when requests arrived"),
    "tokens": {"stream/in-order": "what the model answered"},
    "emissions": dict.fromkeys(("stream/in-order", "stream/immediate", "abort/silent"), "what was emitted"),
    "endings": dict.fromkeys(("stream/one-ending", "stream/finish", "stream/ends"), "how requests ended"),
}
PADS = ("pad/constant", "pad/ignored", "pad/shape")
AT_END = ("output/own", "output/complete", "run/ends", "stream/ends")


def promises(profile: str) -> list[str]:
    """The names of all promises of a profile, MUST first."""
    found = CATALOGUE if profile == "generate" else ENGINE
    return sorted(found, key=lambda name: (EVERY[name].level, name))


def unknown(header: m.Header) -> dict[str, str]:
    """Why some promises cannot be judged, whatever the trace goes on to tell."""
    out = {name: f"the trace does not say {what}" for name, what in SILENT.items()}
    without = set(header.without)
    if "emissions" not in without:
        without.discard("endings")  # what is emitted tells them
    for fact in without:
        out |= {name: f"the trace does not say {what}" for name, what in LACKING[fact].items()}
    if header.dialect.get("batch", "compact") == "compact":
        out |= dict.fromkeys(PADS, "the dialect has no pad rows")
    mine = set(promises(header.profile))
    return {name: why for name, why in out.items() if name in mine}


def nonsense(header: m.Header) -> str:
    """Say what of a header does not fit together, or nothing."""
    without = set(header.without)
    wrong = without - {"results"} if header.profile == "generate" else without & {"results"}
    if wrong:
        return f"a trace of profile {header.profile} cannot be without {', '.join(sorted(wrong))}"
    if {"tokens", "emissions", "endings"} <= without:
        return "without tokens, emissions and endings nothing says when a request ends"
    strange = [name for name in header.allow if name not in promises(header.profile)]
    return f"`allow` names {strange[0]!r}, which profile {header.profile} does not promise" if strange else ""
