"""Hypothesis: workloads beyond the small scope, with the corners of token values, prompts, ids and sizes."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from conformance.workloads import Ask, Session, Tokens, Workload
from reference.vocabulary import Dialect

STOPS = (0, 1, 2, -1, -5, 257, 50_256, 2**31 + 1, 2**63)
TOKENS = (0, 1, 2, 3, -1, 5, 7, 255, 256, 257, 1_000, 50_256, 2**31, 2**31 + 1, 2**64)
IDS = ("", "0", "1", "a", "A", "r 1", "None", "ключ", "\n", "r0", "r1")


def weave(requests: Sequence[tuple[str, Tokens, int, Tokens]], limits: Sequence[int]) -> tuple[Ask, ...]:
    """Turn wishes into asks whose replies agree: where a prefix has a reply already, that one is taken."""
    tree: dict[Tokens, int] = {}
    asks = []
    for (request_id, prompt, max_tokens, wish), limit in zip(requests, limits, strict=True):
        prefix, script = prompt, []
        for token in wish[: max(limit, 1)]:
            said = tree.setdefault(prefix, token)
            script.append(said)
            prefix = (*prefix, said)
        asks.append(Ask(request_id, prompt, max_tokens, tuple(script)))
    return tuple(asks)


@st.composite
def workloads(draw: st.DrawFn, dialect: Dialect, *, largest: int = 9) -> Workload:
    """Draw a workload: up to `largest` requests (sometimes 20), lengths to 14, prompts that meet or are disjoint."""
    stop = draw(st.sampled_from(STOPS))
    count = draw(st.one_of(st.integers(0, largest), st.integers(0, 20)))
    slots = draw(st.integers(1, 6))
    mixed = draw(st.booleans())
    rows = [_request(draw, index, stop, mixed) for index in range(count)]
    counted = [len(prompt) if dialect.max_tokens == "total" else 0 for _, prompt, _, _ in rows]
    over = draw(st.integers(0, 1)) if dialect.max_tokens == "total" and count else 0
    limits = [limit for _, _, limit, _ in rows]
    asked = [
        (i, prompt, max(0, limit + more - over), wish)
        for (i, prompt, limit, wish), more in zip(rows, counted, strict=True)
    ]
    asks = weave(asked, limits)
    otherwise = draw(st.sampled_from((777, stop, 2**40)))
    return Workload(asks, slots, stop, otherwise=otherwise)


def _request(draw: st.DrawFn, index: int, stop: int, mixed: bool) -> tuple[str, Tokens, int, Tokens]:
    """Draw one request: id, prompt, limit, wished-for replies; from one alphabet for all (`mixed`), or its own."""
    limit = draw(st.one_of(st.integers(0, 4), st.integers(0, 14)))
    ends = draw(st.integers(0, limit + 2))  # the place of the stop token; beyond the limit: none
    if mixed:
        alphabet = st.sampled_from(TOKENS)
        prompt = tuple(draw(st.lists(st.one_of(alphabet, st.just(stop)), max_size=3)))
        wish = [draw(alphabet) for _ in range(min(limit, 4))]
        wish += [TOKENS[(index + k) % len(TOKENS)] for k in range(len(wish), limit)]
    else:
        base = 10_000 * (index + 1)
        size = draw(st.integers(0, 3))
        prompt = tuple(stop if draw(st.integers(0, 4)) == 4 else base + k for k in range(size))
        prompt = (*prompt, base + 99) if size else (base + 98,)
        wish = [base + 500 + k for k in range(limit)]
    if 0 < ends <= limit:
        wish[ends - 1] = stop
    return f"r{index}" if index >= len(IDS) or not mixed else IDS[index], prompt, limit, tuple(wish)


def sessions(dialect: Dialect) -> st.SearchStrategy[Session]:
    """One run, mostly; or two in one process, the second of them maybe inside the first."""
    one = workloads(dialect)
    pair = st.tuples(workloads(dialect, largest=3), workloads(dialect, largest=3))
    return st.one_of(
        one.map(lambda w: Session((w,))),
        one.map(lambda w: Session((w,))),
        one.map(lambda w: Session((w,))),
        pair.map(
            lambda two: Session(two, nested=bool(two[0].allowance() > 4 and two[0].num_slots % 2 and _calls(two[0])))
        ),
    )


def _calls(workload: Workload) -> bool:
    return any(limit > 0 for limit in workload.limits(Dialect(max_tokens="total")))
