"""`docs/engines.md`, made from the records in `docs/engines`: `python -m conformance.engines.page` writes it anew.

The prose stands in the page; what lies between a pair of marks is generated. Rendering needs no engine, so
that a stale page is noticed anywhere.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from conformance.engine.catalogue import ENGINE
from conformance.engines.record import FOLDER, Defect, Record, kept

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "engines.md"
SPLICE = re.compile(r"(<!-- (\w+): begin -->\n\n).*?(\n\n<!-- \2: end -->)", re.DOTALL)
WORDS = {"holds": "holds", "weaker": "weaker", "violated": "**violated**", "not judged": "-", "not tried": "-"}


def blocks(records: Sequence[Record]) -> dict[str, str]:
    """The generated parts, by the names of their marks."""
    return {
        "engines": "\n".join(_engines(records)),
        "promises": "\n".join(_promises(records)),
        "details": "\n\n".join(_details(record) for record in records),
    }


def spliced(text: str, records: Sequence[Record]) -> str:
    """The page with every generated part made anew."""
    made = blocks(records)
    return SPLICE.sub(lambda match: match[1] + made[match[2]] + match[3], text)


def write() -> None:
    PAGE.write_text(spliced(PAGE.read_text(encoding="utf-8"), kept()), encoding="utf-8")


def _row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _engines(records: Sequence[Record]) -> Iterator[str]:
    yield _row(["engine", "versions", "examples", "a second", "holds", "weaker", "violated"])
    yield _row(["---", "---", "---:", "---:", "---:", "---:", "---:"])
    for record in records:
        versions = ", ".join(f"{package} {version}" for package, version in record.versions.items())
        counts = [
            sum(s == status for s, *_ in record.invariants.values()) for status in ("holds", "weaker", "violated")
        ]
        link = f"[{record.engine}](#{anchor(record.engine)})"
        yield _row([link, versions, f"{record.examples:,}", f"{record.rate:.0f}", *counts])


def _promises(records: Sequence[Record]) -> Iterator[str]:
    yield _row(["invariant", *(record.engine for record in records)])
    yield _row(["---"] * (len(records) + 1))
    for name, invariant in ENGINE.items():
        cells = [WORDS[record.invariants[name][0]] if name in record.invariants else "-" for record in records]
        yield _row([f"[{name}](invariants.md#{invariant.anchor})", *cells])


def anchor(title: str) -> str:
    """The anchor of a heading, as the usual renderers make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _details(record: Record) -> str:
    parts = [f"### {record.engine}", *_facts(record)]
    if record.deviations:
        parts += ["**By design.** What is promised instead is checked with its bound.", _deviations(record)]
    if record.refuses:
        parts += ["**Not applicable.**", "\n".join(f"- {what}: {why}" for what, why in record.refuses.items())]
    told = scripts(record.stem)
    parts += [_script(path) for path in told]
    parts += [_defect(defect) for defect in record.defects]
    if not record.defects and not told:
        parts.append("No violation was found.")
    return "\n\n".join(parts)


def _facts(record: Record) -> Iterator[str]:
    source = f"variants/engines/{record.stem}.py"
    yield (
        f"[`{source}`](../{source}) says how it is mapped. {record.examples:,} examples with seed {record.seed}, "
        f"{record.rate:.0f} a second; Python {record.python}, {record.machine}."
    )


def _deviations(record: Record) -> str:
    lines = [_row(["invariant", "weaker promise", "seen at most", "reason"]), _row(["---"] * 4)]
    for one in record.deviations:
        most = "yes" if "{n}" in one.words or not re.search(r"\d", one.words) else str(one.most)
        lines.append(_row([one.invariant, one.words, most if one.most else "did not occur", _cell(one.reason)]))
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _defect(defect: Defect) -> str:
    lines = [f"{defect.invariant} violated", f"  expected  {defect.expected}", f"  observed  {defect.observed}"]
    life = "\n".join(f"  {line}" for line in defect.life.splitlines())
    return "\n".join([f"Smallest scenario for `{defect.invariant}`:", "", "```text", *lines, "", life, "```"])


def scripts(stem: str) -> list[Path]:
    """The stand-alone scripts of an adapter's engine: those whose names begin with its name."""
    return [path for path in sorted(FOLDER.glob("*.py")) if path.name.startswith(f"{stem}__")]


def _script(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    said = ast.get_docstring(ast.parse(text)) or ""
    title, _, rest = said.partition("\n")
    link = f"[`docs/engines/{path.name}`](engines/{path.name})"
    return f"#### {title.rstrip('.')}\n\n{rest.strip()}\n\nShown with the engine alone by {link}."


if __name__ == "__main__":
    write()
