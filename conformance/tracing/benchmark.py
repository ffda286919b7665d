"""How fast a trace is judged, and in how much memory: `python -m conformance.tracing.benchmark [STEPS ...]`."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

from conformance.tracing.check import Judge, check

SLOTS, STOP, PROMPT, LENGTH = 4, 2, 32, 24
STEPS = (100_000, 1_000_000)


def lines(steps: int, *, named: bool) -> Iterator[bytes]:
    """An engine that is always busy, made while it is read: a request comes when one has ended."""
    rows = "named" if named else "prefixes"
    head = {"type": "trace", "version": 1, "num_slots": SLOTS, "stop_token": STOP, "profile": "engine", "rows": rows}
    yield json.dumps(head).encode() + b"\n"
    running: list[tuple[str, list[int], int]] = []
    count = 0
    for step in range(steps):
        while len(running) < SLOTS and step < steps - 2 * LENGTH:
            name, prompt, limit = f"r{count}", [1_000 + count % 7, *range(10, 9 + PROMPT)], 1 + count * 7 % LENGTH
            count += 1
            running.append((name, prompt, limit))
            yield _line(type="submit", id=name, prompt=PROMPT if named else prompt, max_tokens=limit)
        tokens = [(count + step + at) % 5_000 + 3 for at in range(len(running))]
        new = [PROMPT if len(prefix) == PROMPT else 1 for _, prefix, _ in running]
        if named:
            asked = [[name, size] for (name, _, _), size in zip(running, new, strict=True)]
            yield _line(type="call", named=asked, tokens=tokens) if running else b""
        elif running:
            yield _line(type="call", rows=[prefix for _, prefix, _ in running], tokens=tokens)
        outputs: list[tuple[str, int, str | None]] = []
        for (name, prefix, limit), token in zip(running, tokens, strict=True):
            prefix.append(token)
            outputs.append((name, token, "length" if len(prefix) == PROMPT + limit else None))
        running = [r for r, output in zip(running, outputs, strict=True) if output[2] is None]
        yield _line(type="emit", outputs=outputs)
    yield _line(type="close")


def _line(**fields: object) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def measure(steps: int, *, named: bool) -> str:
    """Judge a trace of so many steps in this process; the time to make its lines is taken off."""
    start = time.process_time()
    for _ in lines(steps, named=named):
        pass
    made = time.process_time()
    peak = [0]

    def watch(judge: Judge) -> None:
        peak[0] = max(peak[0], judge.live)

    verdict = check(filter(None, lines(steps, named=named)))
    seconds = (time.process_time() - made) - (made - start)
    check(filter(None, lines(min(steps, 2_000), named=named)), watch=watch)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    kind = "named rows" if named else "prefixes"
    held = "no violation" if not verdict.violated else "VIOLATED"
    return (
        f"{kind:<10} {steps:>9,} steps {verdict.lines:>9,} lines {seconds:7.1f} CPU s {steps / seconds:>8,.0f} steps/s "
        f"{memory:6.0f} MiB, {peak[0]} held, {held}"
    )


def main() -> None:
    """Measure each in a process of its own, as the peak of memory is the process's."""
    match sys.argv[1:]:
        case ["one", steps, kind]:
            print(measure(int(steps), named=kind == "named"))
        case chosen:
            for number in map(int, chosen or STEPS):
                for kind in ("prefixes", "named"):
                    subprocess.run([sys.executable, "-m", __spec__.name, "one", str(number), kind], check=True)


if __name__ == "__main__":
    main()
