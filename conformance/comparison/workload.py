"""What is compared on: the lengths of the requests, given or drawn, and what theory says about them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from reference.vocabulary import Request

MOST_WORK = 10**9
"""The runs are real, so a workload is refused when they would handle more tokens than this."""


@dataclass(frozen=True)
class Workload:
    """Requests by the number of tokens each generates and has as its prompt, and the slots they share.

    `lengths_origin` and `prompts_origin` say in words where the numbers come from.
    """

    lengths: tuple[int, ...]
    prompt_lengths: tuple[int, ...]
    num_slots: int
    lengths_origin: str = "given"
    prompts_origin: str = "given"

    def requests(self) -> list[Request]:
        """Build the requests. Their tokens mean nothing: only `max_tokens` ends a request."""
        return [
            Request(f"r{index}", [0] * prompt, length)
            for index, (length, prompt) in enumerate(zip(self.lengths, self.prompt_lengths, strict=True))
        ]

    @property
    def total(self) -> int:
        return sum(self.lengths)

    @property
    def longest(self) -> int:
        return max(self.lengths, default=0)

    @property
    def lower_bound(self) -> int:
        """No schedule needs fewer calls: a call gives one token to a request, and `num_slots` in all."""
        return max(self.longest, -(-self.total // self.num_slots))

    @property
    def upper_bound(self) -> int:
        """Continuous batching needs no more calls, whatever the order (Graham 1966)."""
        return (self.total + (self.num_slots - 1) * self.longest) // self.num_slots

    @property
    def spread(self) -> float:
        """The standard deviation of the lengths, divided by their mean."""
        if not self.total:
            return 0.0
        mean = self.total / len(self.lengths)
        return math.sqrt(sum((length - mean) ** 2 for length in self.lengths) / len(self.lengths)) / mean

    @property
    def work(self) -> int:
        """The number of tokens and rows, at the most, that one run hands to the model."""
        prefixes = sum(
            length * prompt + length * (length - 1) // 2
            for length, prompt in zip(self.lengths, self.prompt_lengths, strict=True)
        )
        return prefixes + sum(self.prompt_lengths) + self.longest * (len(self.lengths) + self.num_slots)


def constant(random: Random, mean: int) -> int:
    return mean


def uniform(random: Random, mean: int) -> int:
    return 1 + int(random.random() * (2 * mean - 1))


def geometric(random: Random, mean: int) -> int:
    if mean == 1:
        return 1
    return 1 + int(math.log(1 - random.random()) / math.log(1 - 1 / mean))


def bimodal(random: Random, mean: int) -> int:
    return max(1, round(mean / 2)) if random.random() < 0.8 else 3 * mean


def lognormal(random: Random, mean: int) -> int:
    radius, angle = math.sqrt(-2 * math.log(1 - random.random())), 2 * math.pi * random.random()
    return max(1, round(mean * math.exp(radius * math.cos(angle) - 0.5)))


# They use only `Random.random`, the one method whose values Python promises not to change for a seed.
DISTRIBUTIONS: dict[str, Callable[[Random, int], int]] = {
    "constant": constant,
    "uniform": uniform,
    "geometric": geometric,
    "bimodal": bimodal,
    "lognormal": lognormal,
}

DESCRIPTIONS: dict[str, str] = {
    "constant": "every length is the mean",
    "uniform": "from 1 to twice the mean less 1, all equally likely",
    "geometric": "each token is the last with probability 1/mean",
    "bimodal": "four in five half the mean, one in five three times the mean",
    "lognormal": "many short, few very long; the logarithm has deviation 1",
}


def draw(distribution: str, count: int, mean: int, seed: int, stream: str = "lengths") -> tuple[int, ...]:
    """Draw `count` lengths, each at least 1. The same arguments give the same lengths, on every machine.

    Streams are independent of one another, so drawing prompts does not change the lengths.
    """
    random = Random(f"{stream}/{seed}")
    return tuple(DISTRIBUTIONS[distribution](random, mean) for _ in range(count))
