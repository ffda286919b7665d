"""What changed between two gradings, candidate by candidate. One that was only renamed is known by its digest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from conformance.grading.reading.rows import Row


class Change(msgspec.Struct):
    """One candidate that is not as it was. `kind` is added, removed or changed; `before` its old name."""

    target: str
    kind: str
    before: str = ""
    verdict: tuple[str, str] | None = None
    score: tuple[float, float] | None = None
    newly_broken: list[str] = []
    mended: list[str] = []


def changes(old: Iterable[Row], new: Iterable[Row]) -> Iterator[Change]:
    """Yield every change, in the order of the new names, those that are gone last."""
    before, after = {row.target: row for row in old}, {row.target: row for row in new}
    gone = {row.sha256: row for name, row in before.items() if name not in after and row.sha256}
    for name, row in sorted(after.items()):
        was = before.get(name)
        renamed = gone.pop(row.sha256, None) if was is None else None
        was = was or renamed
        if was is None:
            yield Change(name, "added", verdict=("", row.verdict), score=(0.0, row.score))
            continue
        before.pop(was.target, None)
        change = _compared(was, row)
        if change is not None:
            change.before = was.target if renamed else ""
            yield change
    for name, row in sorted(before.items()):
        if name not in after:
            yield Change(name, "removed", verdict=(row.verdict, ""), score=(row.score, 0.0))


def _compared(old: Row, new: Row) -> Change | None:
    broken, mended = sorted(set(new.broken) - set(old.broken)), sorted(set(old.broken) - set(new.broken))
    same = (old.verdict, old.score) == (new.verdict, new.score)
    if same and not broken and not mended and old.target == new.target:
        return None
    verdict = (old.verdict, new.verdict) if old.verdict != new.verdict else None
    score = (old.score, new.score) if old.score != new.score else None
    return Change(new.target, "changed", "", verdict, score, broken, mended)


def line(change: Change) -> str:
    """One line for people."""
    if change.kind != "changed":
        verdict = change.verdict or ("", "")
        return f"{change.kind:<8} {change.target}: {verdict[change.kind == 'added']}"
    parts = [f"was {change.before}"] if change.before else []
    parts += [f"{change.verdict[0]} -> {change.verdict[1]}"] if change.verdict else []
    parts += [f"score {change.score[0]:g} -> {change.score[1]:g}"] if change.score else []
    parts += [f"breaks {', '.join(change.newly_broken)}"] if change.newly_broken else []
    parts += [f"no longer breaks {', '.join(change.mended)}"] if change.mended else []
    return f"changed  {change.target}: {'; '.join(parts)}"
