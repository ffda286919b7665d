"""How long the evidence takes: `python -m conformance.benchmark`. Figures to read, never asserted in a test."""

from __future__ import annotations

import os
import pkgutil
import statistics
import time
from collections.abc import Callable

import click

import variants.flawed
from conformance.catalogue import CATALOGUE
from conformance.evidence import Evidence
from conformance.legs import search, steady
from conformance.study import LEGS, Study
from conformance.targets import REFERENCE, load


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


@click.command()
@click.option("--impl", default=REFERENCE, show_default=True, help="the honest implementation to measure")
def main(impl: str) -> None:
    """Print the seconds of every leg for an honest implementation, and of the first failure of the flawed ones."""
    click.echo(f"{os.cpu_count()} cores, {impl}")
    study, scope = Study(load(impl)), 0.0
    for leg in LEGS:
        taken = seconds(lambda leg=leg: study.search(leg))  # type: ignore[misc]
        scope += taken if leg.name.startswith("small scope") else 0
        click.echo(f"  {leg.name:<30} {taken:6.2f} s")
    click.echo(f"  {'the small scope together':<30} {scope:6.2f} s")
    click.echo(f"  {'150 random workloads':<30} {seconds(lambda: search.random_workloads(study, 150)):6.2f} s")
    click.echo(f"  {'state machine, 75 examples':<30} {seconds(lambda: search.state_machine(study, 75)):6.2f} s")
    click.echo(f"  {'scale':<30} {seconds(lambda: steady.problem(load(impl).generate, study.dialect)):6.2f} s")
    first = [_first_failure(f"variants.flawed.{info.name}") for info in pkgutil.iter_modules(variants.flawed.__path__)]
    must = [taken for taken in first if taken is not None]
    click.echo(f"{len(must)} flawed variants that break a MUST, seconds to the first failure:")
    click.echo(f"  median {statistics.median(must):.2f}, worst {max(must):.2f}")


def _first_failure(name: str) -> float | None:
    if name.rpartition(".")[2].startswith(("engine_", "cached_", "fair_")):
        return None
    implementation = load(name)
    if not any(CATALOGUE[broken].level == "MUST" for broken in implementation.module.BREAKS):
        return None
    evidence = Evidence(implementation)
    start = time.perf_counter()
    while not evidence.study.broken and evidence.run_next():
        pass
    return time.perf_counter() - start if evidence.study.broken else None


if __name__ == "__main__":
    main()
