"""The attack zoo: every attack is contained here, and without the walls some are not."""

from __future__ import annotations

import os

import pytest

from conformance.grading import sandbox_bubblewrap as bubblewrap
from conformance.grading.sandbox import INSTALL, LAYERS
from conformance.grading.zoo import MECHANISMS, Result, discover, run_zoo, table

# Harmless where nothing holds them.
UNHELD = ("answer_in_proc", "canary", "devices", "links", "memory_without_owner", "network", "new_namespace")


@pytest.fixture(autouse=True)
def _contained() -> None:
    if not bubblewrap.mode():
        assert not os.environ.get("CI"), f"bubblewrap is missing: {INSTALL}"
        pytest.skip(INSTALL)


def test_the_zoo_is_complete() -> None:
    """Each attack says its trick, and what stops it: a layer or a mechanism; and none of either is without one."""
    zoo = discover()
    assert len(zoo) == 72
    assert all(attack.trick.endswith((".", ").")) for attack in zoo)
    assert {attack.stopped_by for attack in zoo} <= set(LAYERS) | set(MECHANISMS)
    assert set(MECHANISMS) <= {attack.stopped_by for attack in zoo}


def test_every_attack_is_contained() -> None:
    """None passes, costs more than its time, or touches anything outside."""
    results = run_zoo(seconds=0.7)
    assert len(results) == 72
    escaped = [result for result in results if not result.contained]
    assert not escaped, "\n" + table(escaped)
    assert not [result.attack.name for result in results if result.missing]


def test_without_the_walls_some_attacks_get_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attacks are real: where there are no namespaces, these pass or leave their mark, and the zoo tells so."""
    monkeypatch.setattr(bubblewrap, "mode", lambda: "")
    results: dict[str, Result] = {result.attack.name: result for result in run_zoo(UNHELD)}
    assert sorted(results) == sorted(UNHELD)
    assert [name for name, result in results.items() if result.contained] == []
    assert all("(missing)" in table([result]) for result in results.values())


def test_an_unknown_attack_is_named() -> None:
    """A wrong name is an error, not an empty zoo."""
    with pytest.raises(ValueError, match="there is no attack 'unicorn'"):
        run_zoo(["unicorn"])
