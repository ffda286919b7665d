"""What is tried on a real engine: the scopes of the engine profile in a drawn order, and wide random scripts.

One example in three is wide: more requests than slots and the reverse, long prompts beside prefill of one token,
empty prompts, limits of 0 and below, ids used again and ids as engines give them, aborts and failures at any moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from random import Random

from conformance.engine import scope
from conformance.engine.script import Move, Script
from conformance.engines.adapters import Adapter, Pure
from conformance.workloads import ORDINARY, Ask, Disagreement, Tokens
from reference.vocabulary import Dialect

SCOPES = (scope.first_look, scope.arrivals, scope.duplicates, scope.aborts, scope.aborts_of_three, scope.failures)
LENGTHS = (0, 1, 1, 2, 3, 5, 17, 40)
NAMES = ("r{}", "r{}", "{}", "req-{}", "")
SHORT = (0, 1, 2)
CROWD = 60
SPREAD = 12  # moments of arrival


@dataclass(frozen=True)
class Played(Script):
    """A script for an engine whose language model is fixed: replies come from it."""

    pure: Pure | None = None

    def reply(self, rows: tuple[Tokens, ...] | list[Tokens]) -> list[int]:  # type: ignore[override]
        assert self.pure is not None
        return [self.pure(tuple(row)) for row in rows]


def plan(adapter: Adapter, seed: int) -> Iterator[tuple[str, Script]]:
    """Yield (leg, script) without end, the same for the same seed."""
    rng = Random(seed)
    small = _small(adapter.dialect)
    order = rng.sample(range(len(small)), len(small))
    for number in count():
        if number % 3 == 2:
            leg, script = "wide", wide(rng, adapter.dialect)
        else:
            leg, script = small[order[(2 * number // 3) % len(order)]]
        if (fitting := fitted(script, adapter)) is not None:
            yield leg, fitting


@cache
def _small(dialect: Dialect) -> list[tuple[str, Script]]:
    return [
        (f"small scope, {scripts.__name__.replace('_', ' ')}", script)
        for scripts in SCOPES
        for script in scripts(dialect)
        if script.situation in ("plain", "arguments")
    ]


def wide(rng: Random, dialect: Dialect) -> Script:
    """Draw a script wider than the scopes."""
    stop = rng.choice(scope.STOPS)
    size = CROWD if rng.random() < 0.02 else rng.randint(1, 9)
    pattern = rng.choice(NAMES)
    asks = tuple(_ask(rng, place, stop, pattern, few=size < CROWD, dialect=dialect) for place in range(size))
    moves = [Move(*_moment(rng), "add", place) for place in range(size)]
    moves += [Move(*_moment(rng), "abort", rng.randrange(size)) for _ in range(rng.choice((0, 0, 1, 2, 4)))]
    calls = rng.sample(range(SPREAD), rng.choice((0, 0, 0, 1, 2)))
    moves += [Move("call", call, "fail", 0, rng.choice(sorted(ORDINARY))) for call in calls]
    moves.sort(key=lambda move: (move.when, move.where == "call"))
    return Script(asks, tuple(moves), rng.choice((1, 1, 2, 2, 3, 4, 8)), stop)


def _moment(rng: Random) -> scope.Moment:
    return ("call" if rng.random() < 0.2 else "step", int(SPREAD * rng.random() ** 2))


def _ask(rng: Random, place: int, stop: int, pattern: str, *, few: bool, dialect: Dialect) -> Ask:
    """A request with an alphabet of its own; a short one, unless there are `few`. Only the first may have no prompt."""
    base = 1000 * (place + 1)
    size = max(rng.choice(LENGTHS if few else SHORT), place > 0)
    prompt = tuple(stop if k and rng.random() < 0.1 else base + k for k in range(size))
    limit = rng.choice((0, 1, 1, 2, 3, 5, 9)) if rng.random() < 0.98 else -1
    stops = rng.choice((None, *range(9)))
    replies = tuple(stop if k == stops else base + 500 + k for k in range(12))
    again = place and rng.random() < 0.2
    name = pattern.format(rng.randrange(place) if again else place) or ("" if place == 0 else f"r{place}")
    return Ask(name, prompt, limit + (size if dialect.max_tokens == "total" else 0), replies)


def fitted(script: Script, adapter: Adapter) -> Script | None:
    """The script as this engine can be given it, or None."""
    try:
        script.model  # noqa: B018
    except Disagreement:
        return None
    if "empty prompt" in adapter.refuses and not all(ask.prompt for ask in script.asks):
        return None
    if "a failing call" in adapter.refuses:
        script = script.without_failures()
    if "an act inside a call" in adapter.refuses:
        script = replace(script, moves=tuple(move._replace(where="step") for move in script.moves))
    if adapter.vocabulary and len(_tokens(script)) > adapter.vocabulary:
        return None
    with suppress(LookupError):  # the engine's own model cannot tell two tokens apart
        return script if adapter.pure is None else _pure(script, adapter.pure)
    return None


def _tokens(script: Script) -> set[int]:
    """Every token that can occur while the script is played."""
    tokens = {script.stop_token, script.otherwise}
    for ask in script.asks:
        tokens.update(ask.prompt, ask.script)
    return tokens


def _pure(script: Script, pure: Pure) -> Script:
    """The same life with the replies of a fixed model: it neither fails, nor can anything be done inside its calls."""
    moves = tuple(move._replace(where="step") for move in script.moves if move.what != "fail")
    asks = tuple(ask._replace(script=_continuation(ask, pure)) for ask in script.asks)
    told = [token for ask in asks for token in ask.script[: max(0, ask.max_tokens)]]
    stop = told[len(told) // 2] if told else 0
    kept = {name: getattr(script, name) for name in ("num_slots", "otherwise", "tampers")}
    return Played(asks, moves, stop_token=stop, pure=pure, **kept)


def _continuation(ask: Ask, pure: Pure) -> Tokens:
    prefix = tuple(ask.prompt)
    for _ in range(max(0, ask.max_tokens)):
        prefix = (*prefix, pure(prefix))
    return prefix[len(ask.prompt) :]
