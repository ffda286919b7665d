"""What CrossHair confirms, as theorems of `slotspec prove`: one a shape for the reference, one a variant."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from conformance.contracts import PATIENT, Shape, check_contracts
from conformance.proving.replaying import core_variants
from conformance.proving.theorem import Outcome, Theorem
from conformance.targets import REFERENCE, load, origin
from reference.vocabulary import Dialect

CONTROL = "one token is wrong where the first is 3 * prompt + 1237"
NEEDLE = """\
import {module} as original

def generate(model, requests, num_slots, stop_token):
    result = original.generate(model, requests, num_slots, stop_token)
    for request in requests:
        tokens = result[request.request_id]
        if tokens and tokens[0] == 3 * request.prompt[-1] + 1237:
            tokens[0] += 1
    return result
"""


def crosshair_theorems() -> Iterator[Theorem]:
    for shape in PATIENT:
        statement = "A run of `generate` of this shape asks, and returns, what it should, whatever the tokens are."
        scope, check = f"{shape.name}; every prompt, reply and stop token", partial(check_shapes, REFERENCE, (shape,))
        method = "CrossHair, symbolic execution"
        yield Theorem(short_name(shape), statement, "crosshair", scope, "every token", method, (CONTROL,), check)
    for target in core_variants():
        shapes = followed(target)
        statement = f"A run of `{target}` asks, and returns, what it should, whatever the tokens are."
        scope = f"the {len(shapes)} shapes above that can be followed; every prompt, reply and stop token"
        name, check = f"crosshair/{target.rpartition('.')[2]}", partial(check_shapes, target, shapes)
        short, method = f"{len(shapes)} shapes", "CrossHair, symbolic execution"
        yield Theorem(name, statement, "crosshair", scope, short, method, (CONTROL,), check)


def short_name(shape: Shape) -> str:
    if shape.name.startswith("needle"):
        return "crosshair/needle"
    return f"crosshair/{len(shape.lengths)}x{shape.lengths[0]}x{shape.num_slots}"


def followed(target: str) -> tuple[Shape, ...]:
    """Choose the shapes; threads are not followed, so one that may start them is left those with one row a call."""
    threads = "threading" in Path(origin(load(target).module)).read_text(encoding="utf-8")
    return tuple(shape for shape in PATIENT if not threads or min(len(shape.lengths), shape.num_slots) == 1)


def check_shapes(target: str, shapes: Sequence[Shape]) -> Outcome:
    """Decide the contracts of a target, and that of a copy which is wrong for one value of a token."""
    dialect = load(target).dialect
    results = check_contracts(target, dialect, shapes)
    details = tuple(
        f"{r.shape}: {r.verdict}: {told(r.note, r.violations)}" for r in results if r.verdict != "confirmed"
    )
    worst = {result.verdict for result in results} - {"confirmed"}
    verdict = next((kind for kind in ("refuted", "error", "not confirmed") if kind in worst), "confirmed")
    return Outcome(verdict, (CONTROL,) if needle_found(target, dialect, shapes[0]) else (), details)


def told(note: str, violations: object) -> str:
    return note or f"violates {', '.join(violations)}" if isinstance(violations, dict) else note


def needle_found(target: str, dialect: Dialect, shape: Shape) -> bool:
    """Tell whether CrossHair finds the wrong token, and the run that it gives violates an invariant."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "needle.py")
        copy.write_text(NEEDLE.format(module=target), encoding="utf-8")
        (result,) = check_contracts(str(copy), dialect, (shape,), jobs=1)
    return result.verdict == "refuted"
