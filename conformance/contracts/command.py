"""The command, and the tables of docs/crosshair.md."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from conformance.contracts.parent import HOUSE, check_contracts
from conformance.contracts.shapes import PATIENT, QUICK, SHAPES, Shape
from conformance.targets import REFERENCE, TargetError, load, parse_dialect
from reference.vocabulary import Dialect

BEGIN, END = "<!-- contracts: begin -->", "<!-- contracts: end -->"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the verdicts for the targets, or write those for the reference and the variants into a document."""
    parser = argparse.ArgumentParser(prog="python -m conformance.contracts", description="CrossHair contracts.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="a module, module:function, or a .py file")
    parser.add_argument("--dialect", default="", help="for example stop_token=excluded")
    parser.add_argument("--slow", action="store_true", help="the heavier shapes too")
    parser.add_argument("--write", type=Path, metavar="DOCUMENT", help="renew the tables of docs/crosshair.md")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.write:
            text = chosen.write.read_text()
            chosen.write.write_text(splice(text, document()))
        for target in chosen.targets:
            _report(target, parse_dialect(chosen.dialect, load(target).dialect), SHAPES if chosen.slow else QUICK)
    except (TargetError, ValueError) as error:
        parser.error(str(error))
    return 0


def _report(target: str, dialect: Dialect, shapes: Sequence[Shape]) -> None:
    began = time.perf_counter()
    results = check_contracts(target, dialect, shapes)
    print(f"{target}  ({dialect}; {time.perf_counter() - began:.1f} s)")
    for result in results:
        told = ", ".join(result.violations) or result.note
        print(f"  {result.shape:58} {result.verdict:14}{result.paths:4} paths {result.seconds:5.1f} s  {told}".rstrip())


def variants() -> list[str]:
    """The honest variants that offer `generate`, by module name; others answer the follow-up questions."""
    paths = sorted(Path(HOUSE, "variants").glob("[!_]*.py"))
    return [f"variants.{path.stem}" for path in paths if "\ndef generate(" in path.read_text()]


def document() -> str:
    """The tables of docs/crosshair.md: every shape for the reference, the quick ones for every honest variant."""
    lines = ["| shape | verdict | paths | seconds |", "|---|---|---|---|"]
    for r in check_contracts(REFERENCE, load(REFERENCE).dialect, SHAPES):
        lines.append(f"| {r.shape} | {r.verdict} | {r.paths} | {r.seconds:.1f} |")
    lines += ["", f"| variant | {' | '.join(shape.name for shape in QUICK)} |", "|---" * (len(QUICK) + 1) + "|"]
    notes: dict[str, list[str]] = {}
    for target in variants():
        results = check_contracts(target, load(target).dialect, PATIENT)
        lines.append(f"| {target} | {' | '.join(result.verdict for result in results)} |")
        notes |= {target: list(dict.fromkeys(r.note for r in results if r.note))}
    return "\n".join([*lines, "", *(f"- `{target}`: {'; '.join(told)}." for target, told in notes.items() if told)])


def splice(text: str, block: str) -> str:
    """Put `block` between the two marks of a document."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the document should hold {BEGIN} and, after it, {END}")
    return f"{before}{begin}\n\n{block.strip()}\n\n{end}{after}"
