"""Grading: a referee that does not believe the candidate.

    from conformance.grading import grade
    verdict = grade("candidate.py")

The candidate runs in a sandboxed process of its own; `docs/grading.md` tells how to read the verdict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conformance.grading.grade_one import grade
    from conformance.grading.schema import Verdict

__all__ = ["Verdict", "grade"]


def __getattr__(name: str) -> Any:
    # Late, because the candidate's side of the wire and the pytest entry need little of this package.
    if name == "grade":
        from conformance.grading.grade_one import grade

        return grade
    if name == "Verdict":
        from conformance.grading.schema import Verdict

        return Verdict
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
