"""Broken copies of `batching.dfy`: the negative controls of the proof.

Each must be rejected by the lemma or method it names, and by no other of those it lists. A fault in
the code alone is seen where the code is tied to the transition system. A fault made alike in the code
and in the system ("anywhere") is invisible there, and must be seen by a theorem.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Broken:
    """A fault as (find, replace) pairs, each of which matches exactly once.

    `accepted_by` names neighbours that the fault leaves true, so that a rejection is known to be specific.
    """

    name: str
    edits: tuple[tuple[str, str], ...]
    rejected_by: str
    accepted_by: tuple[str, ...] = ()

    def apply(self, text: str) -> str:
        """Return the broken copy of `text`. Raises ValueError where a pair does not match exactly once."""
        for find, replace in self.edits:
            if text.count(find) != 1:
                raise ValueError(f"{self.name}: {text.count(find)} matches, not 1, of {find!r}")
            text = text.replace(find, replace)
        return text


# The places that the faults change: in the code, and in the system.
CODE_STOP = "if token == stop_token || |generated| == slot.request.limit {"
CODE_FREE = "      slots := slots[index := Free];\n"
CODE_PREFIX = "if slot.InUse? then slot.request.prompt + slot.generated else []"
CODE_ENQUEUE = "if requests[index].limit > 0 {"
CODE_PLACE = "slots := slots[index := InUse(waiting[0], [])];\n    waiting := waiting[1..];"
SYSTEM_STOP = "(generated != [] && generated[|generated| - 1] == p.stop_token) || |generated| == p.requests[r].limit"
SYSTEM_FREE = "then given.(slots := s.slots[index := Nobody], finished := s.finished + {r})"
SYSTEM_PREFIX = "  p.requests[r].prompt + s.generated[r]\n"
SYSTEM_ENQUEUE = "else if p.requests[count - 1].limit > 0 then"
SYSTEM_PLACE = "slots := s.slots[index := Holds(s.waiting[0])], waiting := s.waiting[1..]"
SYSTEM_ADMIT = "  AdmitFrom(s, 0)\n"

LAST_IN_CODE = (
    CODE_PLACE,
    "slots := slots[index := InUse(waiting[|waiting| - 1], [])];\n    waiting := waiting[..|waiting| - 1];",
)
LAST_IN_SYSTEM = (
    SYSTEM_PLACE,
    "slots := s.slots[index := Holds(s.waiting[|s.waiting| - 1])], waiting := s.waiting[..|s.waiting| - 1]",
)
NO_STOP_CODE = (CODE_STOP, "if |generated| == slot.request.limit {")
LATE_CODE = (CODE_STOP, "if token == stop_token || |generated| == slot.request.limit + 1 {")
KEPT_CODE = (CODE_FREE, "")
PROMPT_CODE = (CODE_PREFIX, "if slot.InUse? then slot.request.prompt else []")
ZERO_CODE = (CODE_ENQUEUE, "if requests[index].limit >= 0 {")

BROKEN: tuple[Broken, ...] = (
    # The code alone.
    Broken(
        "one-refill-a-step",
        (
            (
                "    now := Place(now, index);\n",
                "    now := Place(now, index);\n    if |waiting| < |waiting0| { break; }\n",
            ),
        ),
        "Refill",
        ("RefillOne",),
    ),
    Broken("last-in-first-out", (LAST_IN_CODE,), "RefillOne", ("Refill",)),
    Broken(
        "reply-shifted",
        (("replies, index, tokens[row], slots", "replies, index, tokens[(row + 1) % |tokens|], slots"),),
        "Deliver",
        ("DeliverOne",),
    ),
    Broken("no-stop", (NO_STOP_CODE,), "DeliverOne", ("Deliver",)),
    Broken("limit-off-by-one", (LATE_CODE,), "DeliverOne", ("Deliver",)),
    Broken("slot-kept", (KEPT_CODE,), "DeliverOne", ("Deliver",)),
    Broken(
        "stop-token-left-in",
        (("request_id := Output(dialect, generated, stop_token)];", "request_id := generated];"),),
        "DeliverOne",
        ("Deliver",),
    ),
    Broken("prefix-is-prompt", (PROMPT_CODE,), "BuildBatch", ("Generate",)),
    Broken("zero-admitted", (ZERO_CODE,), "Enqueue", ("Generate",)),
    Broken("short-reply-taken", (("    if |tokens| != |sent| {\n", "    if false {\n"),), "Generate", ("Deliver",)),
    Broken("returns-early", (("    if occupied == [] {\n", "    if waiting == [] {\n"),), "Generate", ("Occupied",)),
    Broken("empty-call", (("    if occupied == [] {\n", "    if occupied == [] && waiting != [] {\n"),), "Generate"),
    # The code and the system alike.
    Broken(
        "last-in-first-out-anywhere",
        (LAST_IN_CODE, LAST_IN_SYSTEM),
        "PlaceKeepsFifo",
        ("PlaceKeepsWellFormed", "Refill"),
    ),
    Broken(
        "no-stop-anywhere",
        (NO_STOP_CODE, (SYSTEM_STOP, "|generated| == p.requests[r].limit")),
        "OneTokenIsOnTrack",
        ("DeliverOne", "GiveKeepsFullMeansFinished"),
    ),
    Broken(
        "limit-off-by-one-anywhere",
        (LATE_CODE, (SYSTEM_STOP, SYSTEM_STOP + " + 1")),
        "GiveKeepsWithinLimits",
        ("DeliverOne",),
    ),
    Broken(
        "prefix-is-prompt-anywhere",
        (PROMPT_CODE, (SYSTEM_PREFIX, "  p.requests[r].prompt\n")),
        "GiveIsOnTrack",
        ("BuildBatch",),
    ),
    Broken(
        "zero-admitted-anywhere",
        (ZERO_CODE, (SYSTEM_ENQUEUE, "else if p.requests[count - 1].limit >= 0 then")),
        "UnstartedIsInOrder",
        ("Enqueue",),
    ),
    Broken(
        "slot-kept-anywhere",
        (KEPT_CODE, (SYSTEM_FREE, "then given.(finished := s.finished + {r})")),
        "GiveChangesOneSlot",
        ("DeliverOne",),
    ),
    Broken(
        "one-refill-a-step-anywhere",
        (
            (
                "  if index == |s.slots| then s else AdmitFrom(",
                "  if index == |s.slots| then s else if Place(s, index) != s then Place(s, index) else AdmitFrom(",
            ),
        ),
        "AdmitLeavesNoIdleSlot",
        ("AdmitKeepsInvariants",),
    ),
    Broken(
        "static-batching-anywhere",
        ((SYSTEM_ADMIT, "  if Idle(s) then AdmitFrom(s, 0) else s\n"),),
        "AdmitKeepsAll",
        ("AdmitLeavesNoIdleSlot",),
    ),
    # A hypothesis gone, or a contradiction believed.
    Broken(
        "no-slots",
        (
            (
                "(outcome: Outcome, calls: seq<Call>)\n  requires num_slots >= 1 && DistinctIds(requests)\n",
                "(outcome: Outcome, calls: seq<Call>)\n  requires DistinctIds(requests)\n",
            ),
        ),
        "Generate",
    ),
    Broken(
        "equal-ids",
        (("  requires Records(p, results, s) && DistinctIds(p.requests)\n", "  requires Records(p, results, s)\n"),),
        "GiveIsRecorded",
        ("GiveIsOccupied",),
    ),
    Broken(
        "model-not-pure",
        (
            (
                "  requires forall i :: 0 <= i < |calls| ==> Pure(next, calls[i])\n  ensures forall r: nat",
                "  ensures forall r: nat",
            ),
        ),
        "EveryRequestAsAlone",
        ("OnTrackAlways",),
    ),
    Broken(
        "model-forgotten",
        (
            (
                "  requires call.replies == model(calls, call.rows) && other.replies == model(calls, other.rows)\n",
                "",
            ),
        ),
        "NextCallAgrees",
    ),
    Broken("contradiction", (("  assert [requests[r]][0] == requests[r];\n", "  assert false;\n"),), "TogetherAsAlone"),
)
