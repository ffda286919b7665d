"""Splice docs/invariants.md from the files of the invariants: `python -m conformance.docs`."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from conformance.catalogue import EVERY
from conformance.invariant import Invariant

PAGE = Path(__file__).resolve().parents[1] / "docs" / "invariants.md"
INTRODUCTION = """\
# The invariants

Each promise is one file in `conformance/invariants/`, and this page is made from them by
`python -m conformance.docs`. The name is the same everywhere: the file, the pytest id
(`-k "refill/immediate"`), the heading here, and what a failure prints. MUST comes from the words of the question and
decides the verdict; SHOULD is robustness, reported and scored apart. *Seen in* names public reports of the same
promise broken, as `owner/repo#number`; their causes are their authors' claims.

*Evidence*: what is seen on the wire cannot be forged by the implementation; what is reported is seen by the code beside
it in its process. A promise *about the outcome* is not judged in a run whose calls went wrong before.
"""
PROFILES = {
    "core": "`generate`",
    "cached": "`generate_cached`: one key/value cache line a slot",
    "engine": "`Engine`: arrivals, streaming, cancelling",
    "fair": "`Engine(..., quantum=q)`",
}


def page() -> str:
    """The whole page as text."""
    return "\n".join([INTRODUCTION, *_table(), *_sections()])


def _table() -> Iterator[str]:
    yield "| invariant | level | |"
    yield "|---|---|---|"
    for invariant in _ordered():
        first = invariant.sentence.split(":")[0].split(";")[0].rstrip(".")
        yield f"| [`{invariant.name}`](#{invariant.anchor}) | {invariant.level} | {first} |"


def _ordered() -> list[Invariant]:
    order = list(PROFILES)
    return sorted(EVERY.values(), key=lambda i: (order.index(i.profile), i.level, i.name))


def _sections() -> Iterator[str]:
    for profile, title in PROFILES.items():
        members = [i for i in _ordered() if i.profile == profile]
        if members:
            yield f"\n## {title}"
        for invariant in members:
            yield _section(invariant)


def _section(invariant: Invariant) -> str:
    seen = ", ".join(f"`{report}`" for report in invariant.seen_in) or "no public report known to us"
    facts = f"{invariant.level}, {invariant.evidence} evidence" + (", about the outcome" if invariant.at_end else "")
    implied = ", ".join(f"`{name}`" for name in invariant.implied_by)
    parts = [
        f'\n<a id="{invariant.anchor}"></a>\n\n### {invariant.name}\n',
        _wrapped(invariant.sentence),
        f"\n*{facts}*\n",
        _wrapped(f"**Why.** {invariant.why}"),
        "\n" + _wrapped(f"**Does not say.** {invariant.does_not_say}"),
        "\n" + _wrapped(f"**Seen in.** {seen}."),
        "\n" + _wrapped(f"**Witness.** {(invariant.witness.__doc__ or '').strip()}"),
    ]
    parts += ["\n" + f"**Implied by.** {implied}."] if implied else []
    return "\n".join(parts)


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 118, break_long_words=False, break_on_hyphens=False)


def main() -> None:
    PAGE.write_text(page() + "\n", encoding="utf-8")
    sys.stdout.write(f"{PAGE.name}: {len(EVERY)} invariants\n")


if __name__ == "__main__":
    main()
