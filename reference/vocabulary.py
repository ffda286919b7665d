"""The nouns of dynamic batching, as every other file of this project uses them.

Dynamic batching is also called *continuous batching*, and *iteration-level scheduling* where it was
first described (Yu et al., "Orca", OSDI 2022). The three names mean one thing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol, get_args

FinishReason = Literal["stop", "length", "abort"]


class MockModel(Protocol):
    """The language model: one next token for every sequence of a batch; no state between calls.

    Any object with this method is one. `batch[i]` is a full prefix, the prompt and everything
    generated for it so far (shape: rows x tokens, ragged); the reply has one token id a row, in the
    same order. Whatever it raises is for the caller of `generate`.
    """

    def next_tokens(self, batch: list[list[int]]) -> list[int]: ...


@dataclass
class Request:
    """One prompt to continue.

    `prompt` may be empty and may hold the stop token, which means nothing there. `max_tokens` is
    the limit, in tokens; what it counts is an axis of the `Dialect`.
    """

    request_id: str
    prompt: list[int]
    max_tokens: int


@dataclass(frozen=True)
class Dialect:
    """What an implementation chose where the question leaves it open; the defaults are the first values.

    `max_tokens` "new" counts generated tokens, "total" the prompt as well. `stop_token` tells
    whether the returned tokens end with the stop token, when that is what ended them. `batch`
    "padded" sends exactly `num_slots` rows a call, idle slots as one constant pad row.
    """

    max_tokens: Literal["new", "total"] = "new"
    stop_token: Literal["included", "excluded"] = "included"
    batch: Literal["compact", "padded"] = "compact"

    @classmethod
    def of(cls, chosen: Mapping[str, Any]) -> Dialect:
        """Build a dialect from a declaration such as `DIALECT = {"stop_token": "excluded"}`.

        Raises ValueError, naming what would be right, for an unknown axis or value.
        """
        if not isinstance(chosen, Mapping):
            raise ValueError(f"a dialect is a mapping from axis to value, not {chosen!r}")
        for axis, value in chosen.items():
            if axis not in AXES:
                raise ValueError(f"unknown dialect axis {axis!r}; the axes are {', '.join(AXES)}")
            if value not in AXES[axis]:
                raise ValueError(f"dialect {axis}={value!r} should be one of {', '.join(AXES[axis])}")
        return cls(**chosen)

    def limit(self, request: Request) -> int:
        """The number of tokens that may be generated for `request`."""
        counted = len(request.prompt) if self.max_tokens == "total" else 0
        return max(0, request.max_tokens - counted)

    def output(self, generated: Sequence[int], stop_token: int) -> list[int]:
        """The tokens to return when the model generated `generated`, a stop token at its end or none."""
        stopped = bool(generated) and generated[-1] == stop_token
        return list(generated[:-1] if stopped and self.stop_token == "excluded" else generated)

    def __str__(self) -> str:
        return ",".join(f"{field.name}={getattr(self, field.name)}" for field in fields(self))


AXES: dict[str, tuple[str, ...]] = {
    "max_tokens": get_args(Literal["new", "total"]),
    "stop_token": get_args(Literal["included", "excluded"]),
    "batch": get_args(Literal["compact", "padded"]),
}


def check_arguments(requests: Sequence[Request], num_slots: int) -> None:
    """Raise ValueError for fewer than one slot, a negative `max_tokens`, or two requests with one id."""
    if num_slots < 1:
        raise ValueError(f"num_slots is {num_slots}, and should be at least 1")
    seen: set[str] = set()
    for request in requests:
        if request.max_tokens < 0:
            raise ValueError(f"max_tokens of request {request.request_id!r} is {request.max_tokens}, below 0")
        if request.request_id in seen:
            raise ValueError(f"two requests have the id {request.request_id!r}")
        seen.add(request.request_id)
