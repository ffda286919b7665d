"""Grade a JSON-lines file of candidates: python grade_jsonl.py candidates.jsonl scores.jsonl --seed 7

In, a line a candidate:  {"id": "a1", "source": "def generate(...): ..."}
Out, as they come:       {"id": "a1", "sha256": "...", "score": 0.83, "verdict": "nonconforming", "reason": "..."}

What is in the second file already, with the same source, is not graded again, so a run that was killed goes on when
it is started again. Errors of the grader are not written, and are tried again the next time. Exit status: 0 all
graded, 1 some could not be, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import IO, Any

from conformance.grading import Verdict, grade
from conformance.grading.referees import Referees


def scored(identity: str, source: str, verdict: Verdict) -> dict[str, Any]:
    return {
        "id": identity,
        "sha256": digest(source),
        "score": verdict.score.ratio,
        "verdict": verdict.verdict,
        "reason": verdict.reason,
        "seed": verdict.seed,
    }


def digest(source: str) -> str:
    return hashlib.sha256(source.encode(errors="surrogatepass")).hexdigest()


def candidates(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (id, source), a line at a time. Raises ValueError, with the place."""
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                given = json.loads(line)
                identity, source = given["id"], given["source"]
            except (ValueError, KeyError, TypeError):
                identity = source = None
            if not (isinstance(identity, str) and isinstance(source, str)):
                raise ValueError(f'{path}:{number}: a line should be {{"id": "...", "source": "..."}}')
            yield identity, source


def known(path: Path) -> set[tuple[str, str]]:
    """What is graded already, by id and digest; a line that was cut off is removed."""
    found: set[tuple[str, str]] = set()
    if not path.exists():
        return found
    whole = 0
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            score = json.loads(line)
            found.add((score["id"], score["sha256"]))
    os.truncate(path, whole)
    return found


def grade_file(path: Path, out: IO[str], done: set[tuple[str, str]], options: argparse.Namespace) -> int:
    """Grade what is not done, and write each score at once. Returns how many could not be graded."""
    failed = 0
    waiting: dict[Future[Verdict], tuple[str, str]] = {}

    def finish(at_most: int) -> None:
        nonlocal failed
        while len(waiting) > at_most:
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                score = scored(*waiting.pop(future), future.result())
                if score["verdict"] == "referee-error":
                    failed += 1
                    continue
                out.write(json.dumps(score) + "\n")
                out.flush()

    with Referees(options.jobs) as pool:
        try:
            for identity, source in candidates(path):
                if (identity, digest(source)) not in done:
                    finish(2 * options.jobs - 1)  # no more in memory than keeps the pool busy
                    future = pool.submit(grade, source=source, effort=options.effort, seed=options.seed)
                    waiting[future] = identity, source
            finish(0)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("candidates", type=Path)
    parser.add_argument("scores", type=Path)
    parser.add_argument("--effort", choices=["quick", "default", "thorough"], default="quick")
    parser.add_argument("--seed", type=int, help="one for all; drawn for each when it is left out")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    try:
        done = known(options.scores)
        count = sum(1 for _ in candidates(options.candidates))  # bad input is told before anything is graded
        print(f"{count} candidates, {len(done)} scores are there already", file=sys.stderr)
        with options.scores.open("a", encoding="utf-8") as out:
            failed = grade_file(options.candidates, out, done, options)
    except (OSError, ValueError, KeyError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    if failed:
        print(f"{failed} could not be graded; start it again to try them", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
