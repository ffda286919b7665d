"""The lines of a run as text: what each forward appended, what the model answered, who emptied what."""

from __future__ import annotations

from conformance.cached.attribution import CachedAttribution
from conformance.cached.history import CachedRun, Forward, Lines, Reset, left_over, replayed
from conformance.history import Raised, Returned
from conformance.workloads import Tokens

MOST = 24  # operations before the one that is shown, where a run is longer


def timeline(found: CachedAttribution, mark: int | None = None) -> str:
    """One block for each operation; `>` stands at forward `mark`, counted from 0, and nothing is shown after it."""
    blocks, index = [], 0
    for op, lines in replayed(found.cached):
        if mark is not None and index > mark:
            break
        if isinstance(op, Reset):
            blocks.append([f"reset {op.slot}    emptied: {_tokens(lines.get(op.slot, ()))}"])
            continue
        blocks.append(_forward(found, index, op, lines, index == mark))
        index += 1
    cut = [["..."]] if len(blocks) > MOST else []
    end = [] if mark is not None and mark < index else [_end(found.cached)]
    return "\n".join(line for block in [*cut, *blocks[-MOST:], *end] for line in block)


def _forward(found: CachedAttribution, index: int, op: Forward, lines: Lines, marked: bool) -> list[str]:
    head = f"{'>' if marked else ' '} forward {index + 1}"
    if op.malformed:
        return [f"{head}  {op.malformed}"]
    known = index < len(found.owners)
    owners = found.owners[index] if known else tuple(found.held.get(slot) for slot, _ in op.rows)
    out = [head]
    for place, ((slot, new), owner) in enumerate(zip(op.rows, owners, strict=True)):
        line = lines.get(slot, ())
        who = found.run.workload.asks[owner].request_id if owner is not None else "?"
        reply = "raised" if op.replies is None else str(op.replies[place]) if place < len(op.replies) else "nothing"
        piece = known and owner is not None and len(line) + len(new) < len(found.run.workload.asks[owner].prompt)
        counts = "  (a piece of the prompt; not counted)" if piece else ""
        out.append(f"    slot {slot}  {who:<3} {_tokens(line)} + {_tokens(new)} -> {reply}{counts}")
    return out


def _end(run: CachedRun) -> list[str]:
    left = left_over(run)
    held = ", ".join(f"slot {slot}: {_tokens(line)}" for slot, line in sorted(left.items()))
    outcome = run.outcome
    if isinstance(outcome, Returned):
        what = "returns " + ", ".join(f"{key}: {_tokens(tokens)}" for key, tokens in outcome.pairs)
    else:
        what = f"raises {outcome.kind}" if isinstance(outcome, Raised) else "does not end"
    return [f"{what}", f"  lines: {held or 'all empty'}"]


def _tokens(tokens: Tokens) -> str:
    """Write tokens, long lists with a gap."""
    shown = [*map(str, tokens[:8]), "...", *map(str, tokens[-3:])] if len(tokens) > 12 else map(str, tokens)
    return f"[{' '.join(shown)}]"
