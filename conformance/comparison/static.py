"""Static batching, to compare with: the next batch starts only when all of the batch have finished."""

from __future__ import annotations

from reference.vocabulary import Dialect, MockModel, Request, check_arguments


def generate(
    model: MockModel,
    requests: list[Request],
    num_slots: int,
    stop_token: int,
    *,
    dialect: Dialect = Dialect(),
) -> dict[str, list[int]]:
    """Generate the tokens of every request, in batches of `num_slots` taken in order.

    The signature, the results and the errors are those of `reference.generate.generate`; only the
    calls differ. A sequence that has finished leaves its place empty (or as a pad row, when the
    dialect is padded) until the longest of its batch has finished too.
    """
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    queue = [request for request in requests if dialect.limit(request) > 0]
    for start in range(0, len(queue), num_slots):
        batch = queue[start : start + num_slots]
        outputs = run_batch(model, batch, num_slots, stop_token, dialect)
        results.update(zip((request.request_id for request in batch), outputs, strict=True))
    return results


def run_batch(
    model: MockModel, batch: list[Request], num_slots: int, stop_token: int, dialect: Dialect
) -> list[list[int]]:
    """Call the model until every request of one batch has finished; return their tokens in order."""
    generated: list[list[int]] = [[] for _ in batch]
    running = list(range(len(batch)))
    while running:
        sent = list(range(num_slots)) if dialect.batch == "padded" else running
        live = set(running)
        rows = [[*batch[place].prompt, *generated[place]] if place in live else [] for place in sent]
        tokens = model.next_tokens(rows)
        if len(tokens) != len(rows):
            raise ValueError(f"the model returned {len(tokens)} tokens for {len(rows)} rows")
        for place, token in zip(sent, tokens, strict=True):
            if place in live:
                generated[place].append(token)
        running = [
            place
            for place in running
            if generated[place][-1] != stop_token and len(generated[place]) < dialect.limit(batch[place])
        ]
    return [dialect.output(tokens, stop_token) for tokens in generated]
