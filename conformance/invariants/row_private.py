"""row/private: the rows are the model's to keep, the state is the loop's."""

from __future__ import annotations

from dataclasses import replace

from conformance.attribution import Attribution
from conformance.invariant import Invariant, Mutant, Violation
from conformance.workloads import Workload


def check(found: Attribution) -> Violation | None:
    end = found.divergence.call if found.divergence else len(found.run.calls)
    if found.run.rows_changed:
        return Violation(end, "rows that stay as they were handed to the model", found.run.rows_changed)
    if found.run.workload.situation == "tampers" and not found.conforms:
        return Violation(end, "the same run as with a model that leaves its rows alone", "calls or outputs that differ")
    return None


def control(workload: Workload, violation: Violation) -> Workload:
    """The same with a model that leaves its rows alone."""
    return replace(workload, fault=None)


def witness(found: Attribution) -> bool:
    """The model alters its rows, or looks at them later, and the run goes on for some calls."""
    return len(found.owners) > 1


INVARIANT = Invariant(
    level="SHOULD",
    sentence="What the model does to the lists it was handed, then or later, changes no output; a row handed over does "
    "not change afterwards.",
    why="A live buffer handed to a model that works asynchronously is read when it already holds the next token.",
    seen_in=("ml-explore/mlx-lm#1746", "sgl-project/sglang#17323"),
    does_not_say="That prompts are copied when nothing alters them.",
    check=check,
    witness=witness,
    control=control,
    situations=frozenset({"tampers", "keeps"}),
    evidence="reported",
    mutants=(
        Mutant(
            "        return [*self.request.prompt, *self.generated]",
            "        row = self.__dict__.setdefault('row', list(self.request.prompt))\n"
            "        row += self.generated[len(row) - len(self.request.prompt) :]\n        return row",
        ),
        Mutant(
            "            slot.generated.append(token)",
            "            slot.generated[:] = [*batch[sent.index(index)][len(slot.request.prompt) :], token]",
        ),
    ),
)
