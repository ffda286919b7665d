"""Random workloads from a seed: the shapes of the Hypothesis leg, drawn plainly, which is cheap and repeatable."""

from __future__ import annotations

from random import Random

from conformance.workloads import Ask, Tokens, Workload
from reference.vocabulary import Dialect

STOPS = (0, 1, 2, -1, -5, 257, 50_256, 2**31 + 1, 2**63)
TOKENS = (0, 1, 2, 3, -1, 5, 7, 255, 256, 257, 1_000, 50_256, 2**31, 2**31 + 1, 2**64)
IDS = ("", "0", "1", "a", "A", "r 1", "None", "ключ", "\n", "r0", "r1")


def random_workload(draw: Random, dialect: Dialect) -> Workload:
    """Draw up to 9 requests (sometimes 20) of up to 14 tokens, with prompts that meet or are disjoint."""
    stop = draw.choice(STOPS)
    mixed = draw.random() < 0.5
    count = draw.randrange(21) if draw.random() < 0.2 else draw.randrange(10)
    sampled = mixed and draw.random() < 0.25
    over = draw.randrange(2) if dialect.max_tokens == "total" else 0
    said: dict[Tokens, int] = {}
    asks = []
    for index in range(count):
        limit = draw.randrange(15) if draw.random() < 0.4 else draw.randrange(5)
        prompt = _mixed_prompt(draw, stop) if mixed else _own_prompt(draw, index, stop)
        wish = _replies(draw, index, limit, stop, mixed)
        script = wish if sampled else _agreeing(said, prompt, wish)
        counted = len(prompt) - over if dialect.max_tokens == "total" else 0
        identity = IDS[index] if mixed and index < len(IDS) else f"r{index}"
        asks.append(Ask(identity, prompt, max(0, limit + counted), script))
    otherwise = draw.choice((777, stop, 2**40))
    return Workload(tuple(asks), 1 + draw.randrange(6), stop, otherwise, sampled)


def _own_prompt(draw: Random, index: int, stop: int) -> Tokens:
    base = 10_000 * (index + 1)
    inner = [stop if draw.random() < 0.2 else base + k for k in range(draw.randrange(4))]
    return (*inner, base + 99)


def _mixed_prompt(draw: Random, stop: int) -> Tokens:
    return tuple(stop if draw.random() < 0.3 else draw.choice(TOKENS) for _ in range(draw.randrange(4)))


def _replies(draw: Random, index: int, limit: int, stop: int, mixed: bool) -> Tokens:
    """What the model would like to say to a request: a stop token at some place, or none."""
    if mixed:
        wish = [draw.choice(TOKENS) for _ in range(max(1, limit))]
    else:
        wish = [10_000 * (index + 1) + 500 + k for k in range(max(1, limit))]
    ends = draw.randrange(limit + 3)
    if 0 < ends <= limit:
        wish[ends - 1] = stop
    return tuple(wish)


def _agreeing(said: dict[Tokens, int], prompt: Tokens, wish: Tokens) -> Tokens:
    """Take what was said to a prefix before, where anything was: a language model is a function of the prefix."""
    prefix, script = prompt, []
    for token in wish:
        known = said.setdefault(prefix, token)
        script.append(known)
        prefix = (*prefix, known)
    return tuple(script)
