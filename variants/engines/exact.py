"""What the adapters of real engines share: token ids that fit an engine's vocabulary, and one step's outputs.

The referee's tokens are any ints, negative and huge ones included; an engine's are 0 to its vocabulary's
size. `Alphabet` translates, so that no token is out of an adapter's reach, and none is altered by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import NamedTuple

from reference.vocabulary import FinishReason

# What no engine here is asked, since its adapter answers before it.
ARGUMENTS = {"arrival/rejected": "the adapter checks arguments itself"}
ANSWERED = {**ARGUMENTS, "id/duplicate": "the adapter refuses live ids itself"}


class StepOutput(NamedTuple):
    """What one step tells of one request; `token` is None where only its ending is told."""

    request_id: str
    token: int | None
    finish_reason: FinishReason | None


class Alphabet:
    """A bijection, grown as tokens are met, between the referee's tokens and ids from `first` up to `size - 1`.

    Raises OverflowError when more than `size - first` different tokens were met.
    """

    def __init__(self, size: int, first: int = 0) -> None:
        self.size = size
        self._next: Iterator[int] = count(first)
        self._ids: dict[int, int] = {}
        self._tokens: dict[int, int] = {}

    def id(self, token: int) -> int:
        """The engine's id of a token."""
        if token not in self._ids:
            fresh = next(self._next)
            if fresh >= self.size:
                raise OverflowError(f"more different tokens than a vocabulary of {self.size} holds")
            self._ids[token], self._tokens[fresh] = fresh, token
        return self._ids[token]

    def token(self, number: int) -> int:
        """The token that an engine's id stands for."""
        return self._tokens[number]

    def ids(self, tokens: Iterable[int]) -> list[int]:
        return [self.id(token) for token in tokens]

    def tokens(self, numbers: Iterable[int]) -> list[int]:
        return [self._tokens[number] for number in numbers]
