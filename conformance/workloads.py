"""Inputs of a run, as plain data: the requests, the slots, and everything that the language model will say."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from reference.vocabulary import Dialect, Request

Tokens = tuple[int, ...]


class ModelFailure(Exception):
    """What the language model raises when it fails in the ordinary way."""


class ModelInterrupt(BaseException):
    """What it raises when it is interrupted; like KeyboardInterrupt, no `Exception`."""


ORDINARY: dict[str, type[BaseException]] = {
    c.__name__: c for c in (ModelFailure, ValueError, KeyError, IndexError, RuntimeError, TimeoutError)
}
UNUSUAL: dict[str, type[BaseException]] = {
    c.__name__: c for c in (StopIteration, StopAsyncIteration, GeneratorExit, CancelledError, ModelInterrupt)
}
EXCEPTIONS = ORDINARY | UNUSUAL
# Those that anybody can pass on: asyncio makes a TimeoutError that comes from a thread anew, and does not chain it.
PASSED_ON = ORDINARY.keys() - {"TimeoutError"}

FaultKind = Literal["raises", "short", "long", "tampers", "keeps"]


class Disagreement(ValueError):
    """Two requests need different replies to one prefix, which a pure language model cannot give."""


class Ask(NamedTuple):
    """A request and `script`, the replies of the language model to it: token k answers the prompt and k tokens."""

    request_id: str
    prompt: Tokens
    max_tokens: int
    script: Tokens = ()

    def request(self) -> Request:
        return Request(self.request_id, list(self.prompt), self.max_tokens)


class Fault(NamedTuple):
    """What the language model does wrong in call number `call`, counted from 0.

    `raises` an exception of class `exception`; answers with one token too few (`short`) or too many
    (`long`); `tampers` with the rows that it was handed, in every call from this one; `keeps` them,
    to see whether they change later.
    """

    kind: FaultKind
    call: int
    exception: str = "ModelFailure"


@dataclass(frozen=True)
class Workload:
    """One run's input.

    The replies of the model are a tree keyed by prefix: prompts that are equal, or begin one
    another, share branches. By default the model is a pure function of the prefix, and scripts that
    disagree raise `Disagreement`. With `sampled`, equal rows of one call get different replies: the
    j-th of them the j-th script's. A prefix outside the tree gets `otherwise`.
    """

    asks: tuple[Ask, ...]
    num_slots: int
    stop_token: int
    otherwise: int = 777
    sampled: bool = False
    fault: Fault | None = None

    def __post_init__(self) -> None:
        if not self.sampled:
            self.tree  # noqa: B018  a disagreement is the builder's error, so it shows where it is built

    @classmethod
    def of(cls, asks: Iterable[Sequence[Any]], num_slots: int, stop_token: int, **more: Any) -> Workload:
        """Build a workload from (request_id, prompt, max_tokens, replies) rows, as reports print them."""
        if isinstance(more.get("fault"), tuple):
            more["fault"] = Fault(*more["fault"])
        rows = tuple(Ask(i, tuple(prompt), limit, tuple(script)) for i, prompt, limit, script in asks)
        return cls(rows, num_slots, stop_token, **more)

    @cached_property
    def tree(self) -> dict[Tokens, Tokens]:
        tree: dict[Tokens, Tokens] = {}
        for ask in self.asks:
            prefix = ask.prompt
            for token in ask.script:
                known = tree.get(prefix)
                if known is None:
                    tree[prefix] = (token,)
                elif self.sampled:
                    tree[prefix] = (*known, token)
                elif known[0] != token:
                    raise Disagreement(f"after {list(prefix)} the model says both {known[0]} and {token}")
                prefix = (*prefix, token)
        return tree

    @property
    def legal(self) -> bool:
        """Whether an implementation has to serve this: false for arguments that it should refuse."""
        ids = {ask.request_id for ask in self.asks}
        return self.num_slots >= 1 and len(ids) == len(self.asks) and all(a.max_tokens >= 0 for a in self.asks)

    @property
    def situation(self) -> str:
        """The kind of run this is: `plain`, `sampled`, `arguments`, or the kind of its fault."""
        if not self.legal:
            return "arguments"
        return self.fault.kind if self.fault else "sampled" if self.sampled else "plain"

    def limits(self, dialect: Dialect) -> list[int]:
        counted = dialect.max_tokens == "total"
        return [max(0, a.max_tokens - (len(a.prompt) if counted else 0)) for a in self.asks]

    def requests(self) -> list[Request]:
        """Fresh objects, so that an implementation can spoil only its own copy."""
        return [ask.request() for ask in self.asks]

    def reply(self, rows: Sequence[Tokens]) -> list[int]:
        """What the model says to `rows`; new int objects, so that `is` does not pass for `==`."""
        tree, outside = self.tree, (self.otherwise,)
        if not self.sampled:
            return [_anew(tree.get(row, outside)[0]) for row in rows]
        counts: dict[Tokens, int] = {}
        out = []
        for row in rows:
            nth = counts.get(row, 0)
            counts[row] = nth + 1
            choices = tree.get(row, outside)
            out.append(_anew(choices[nth % len(choices)]))
        return out

    def allowance(self) -> int:
        """More calls than any right run makes: each call of one brings some request a token nearer its limit."""
        return sum(max(0, ask.max_tokens) for ask in self.asks) + 4

    def with_fault(self, *fault: Any) -> Workload:
        return replace(self, fault=Fault(*fault))

    def size(self) -> tuple[int, ...]:
        """An order for shrinking: fewer requests, then fewer tokens, then smaller numbers."""
        lengths = [len(a.prompt) + len(a.script) + max(0, a.max_tokens) for a in self.asks]
        numbers = [t for a in self.asks for t in (*a.prompt, *a.script, self.stop_token)]
        return (len(self.asks), sum(lengths), self.num_slots, sum(map(abs, numbers)))

    def code(self) -> str:
        """Print as code that can be pasted."""
        rows = [f"    ({a.request_id!r}, {list(a.prompt)}, {a.max_tokens}, {list(a.script)})," for a in self.asks]
        more = [f"num_slots={self.num_slots}", f"stop_token={self.stop_token}"]
        more += [f"otherwise={self.otherwise}"] if self.otherwise != 777 else []
        more += ["sampled=True"] if self.sampled else []
        more += [f"fault={tuple(self.fault)!r}"] if self.fault else []
        return "\n".join(["Workload.of([", *rows, f"], {', '.join(more)})"])


def _anew(token: int) -> int:
    """An equal int that is another object, unless Python keeps only one of it."""
    return -token * -1


@dataclass(frozen=True)
class Session:
    """Runs in one process, one after another; or, `nested`, the second one inside the first model call of the first."""

    workloads: tuple[Workload, ...]
    nested: bool = False

    def code(self) -> str:
        if len(self.workloads) == 1:
            return self.workloads[0].code()
        runs = ",\n".join(workload.code() for workload in self.workloads)
        return f"Session((\n{runs},\n){', nested=True' if self.nested else ''})"
