"""The bound of a contract, and what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from conformance.invariant import Violation
from conformance.workloads import Ask, Workload
from reference.vocabulary import Dialect

Verdict = Literal["confirmed", "refuted", "not confirmed", "error"]


@dataclass(frozen=True)
class Shape:
    """What is fixed in a contract: `lengths` are the limits, in generated tokens; `prompt` is the prompts' length.

    `seconds` is the processor time that CrossHair gets.
    """

    name: str
    lengths: tuple[int, ...]
    num_slots: int
    prompt: int = 1
    slow: bool = False
    seconds: float = 8.0

    @property
    def count(self) -> int:
        """The number of symbols: the stop token, the reply to a pad row, every prompt token and every reply."""
        return 2 + sum(self.prompt + length for length in self.lengths)

    def tokens(self, values: Sequence[int]) -> Tokens:
        stop, pad, *rest = values
        prompts, scripts = [], []
        for length in self.lengths:
            prompts.append(rest[: self.prompt])
            scripts.append(rest[self.prompt : self.prompt + length])
            rest = rest[self.prompt + length :]
        return Tokens(stop, pad, prompts, scripts)

    def max_tokens(self, request: int, dialect: Dialect) -> int:
        return self.lengths[request] + (self.prompt if dialect.max_tokens == "total" else 0)

    def workload(self, values: Sequence[int], dialect: Dialect) -> Workload:
        """The concrete run that the values stand for."""
        stop, pad, prompts, scripts = self.tokens(values)
        asks = tuple(
            Ask(f"r{r}", tuple(prompt), self.max_tokens(r, dialect), tuple(script))
            for r, (prompt, script) in enumerate(zip(prompts, scripts, strict=True))
        )
        plain = Workload(asks, self.num_slots, stop)
        return replace(plain, otherwise=pad) if dialect.batch == "padded" else plain


class Tokens(NamedTuple):
    """The symbols of one run, or their values."""

    stop: int
    pad: int
    prompts: list[list[int]]
    scripts: list[list[int]]


SHAPES = (
    Shape("needle: 1 request with a prompt of 3, x 2 tokens x 1 slot", (2,), 1, prompt=3, seconds=3.0),
    Shape("1 request x 3 tokens x 1 slot", (3,), 1, seconds=3.0),
    Shape("1 request x 2 tokens x 2 slots", (2,), 2, seconds=3.0),
    Shape("2 requests x 2 tokens x 1 slot", (2, 2), 1),
    Shape("2 requests x 2 tokens x 2 slots", (2, 2), 2),
    Shape("2 requests x 3 tokens x 2 slots", (3, 3), 2),
    Shape("3 requests x 1 token x 2 slots", (1, 1, 1), 2),
    Shape("3 requests x 2 tokens x 2 slots", (2, 2, 2), 2),
    Shape("2 requests x 4 tokens x 2 slots", (4, 4), 2, slow=True, seconds=40.0),
    Shape("3 requests x 3 tokens x 2 slots", (3, 3, 3), 2, slow=True, seconds=40.0),
    Shape("4 requests x 2 tokens x 3 slots", (2, 2, 2, 2), 3, slow=True, seconds=60.0),
)
QUICK = tuple(shape for shape in SHAPES if not shape.slow)
PATIENT = tuple(replace(shape, seconds=5 * shape.seconds) for shape in QUICK)  # where a slow machine must not matter


@dataclass(frozen=True)
class ContractResult:
    """What became of one contract; `workload` and `violations` tell what refuted it, `note` why it is not confirmed."""

    shape: str
    verdict: Verdict
    seconds: float
    paths: int = 0
    workload: Workload | None = None
    violations: dict[str, Violation] = field(default_factory=dict)
    note: str = ""
