"""`slotspec prove` says of every theorem what became of it, and fails where one does not hold."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from z3 import BoolVal

from conformance.contracts import PATIENT
from conformance.proving import bridges, catalogue, document, provers, recursion, replaying, symbolic
from conformance.proving.agreement import Compared
from conformance.proving.command import prove
from conformance.proving.theorem import Outcome, Theorem
from reference.formal import dafny, safety
from reference.formal.obligation import Claim, Control, Obligation

HALTED = next(theorem for theorem in safety.THEOREMS if theorem.name == "safety/halted")
FALSE = Claim((), BoolVal(False))


def run(*arguments: str, columns: int = 80) -> Result:
    return CliRunner(env={"COLUMNS": str(columns), "CI": ""}).invoke(prove, arguments)


def only(monkeypatch: pytest.MonkeyPatch, *theorems: Theorem) -> None:
    monkeypatch.setattr(catalogue, "theorems", lambda groups, containing: list(theorems))


def told(name: str, outcome: Outcome, controls: tuple[str, ...] = ("broken",)) -> Theorem:
    return Theorem(name, "It is so.", "z3", "everything", "unbounded", "z3, at once", controls, lambda: outcome)


GOOD = told("good/one", Outcome("proved", ("broken",)))


# -- What is listed ----------------------------------------------------------------------------------


def test_the_theorems_are_these_many() -> None:
    """No theorem can get lost unnoticed; each has a name of its own, a statement, a scope, and a control."""
    theorems = catalogue.theorems()
    counts = {group: sum(theorem.group == group for theorem in theorems) for group in catalogue.SOURCES}
    core = len(replaying.core_variants())
    profiles = 3 + sum(len(bridges.profile_variants(profile, offered)) for profile, offered in PROFILES)
    assert counts == {
        "z3": 30 + 16 + 8,
        "dafny": len(dafny.THEOREMS),
        "crosshair": 8 + core,
        "bridge": 8 + 1 + core + profiles,
    }
    assert core >= 17
    assert profiles >= 12
    assert len({theorem.name for theorem in theorems}) == len(theorems)
    assert all(theorem.statement and theorem.scope and theorem.controls for theorem in theorems)
    assert {theorem.tool for theorem in theorems} == {"z3", "Dafny", "CrossHair", "exhaustive", "replay"}


PROFILES = (("cached", "generate_cached"), ("engine", "Engine"), ("fair", "Engine"))


def test_one_line_a_theorem_fits_into_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the terminal, nothing is wrapped and every line has all six columns."""
    theorems = [replace(theorem, check=lambda: Outcome("not confirmed")) for theorem in catalogue.theorems()]
    only(monkeypatch, *theorems)
    lines = [line for line in run().output.splitlines() if not line.startswith(" ")]
    assert len(lines) == 1 + len(theorems) + 1
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines[1:-1]] == [theorem.name for theorem in theorems]


def test_the_page_is_fresh() -> None:
    """The tables of docs/proofs.md are those of the theorems."""
    page = document.PAGE.read_text(encoding="utf-8")
    assert page == document.splice(page, document.block()), "run: python -m conformance.proving.document"
    assert sum(page.count(f"\n| `{theorem.name}` |") for theorem in catalogue.theorems()) == len(catalogue.theorems())


def test_a_page_without_marks_is_an_error() -> None:
    with pytest.raises(ValueError, match="theorems: begin"):
        document.splice("no marks", "tables")


def test_the_list_decides_nothing() -> None:
    """`--list` gives each statement and scope."""
    result = run("--list", "--only", "z3")
    assert result.exit_code == 0
    assert result.output.count("z3, induction over the actions") > 10
    assert "fairness/bounded-wait\n" in result.output


# -- The exit status ---------------------------------------------------------------------------------


def test_what_holds_exits_with_0() -> None:
    """A real theorem, from one end to the other."""
    result = run("--only", "z3", "-k", "safety/halted")
    assert result.exit_code == 0
    heading, line, summary = result.output.splitlines()
    assert heading.split() == ["theorem", "scope", "method", "verdict", "sec", "ctrl"]
    assert line.split()[:4] == ["safety/halted", "unbounded", "z3", "proved"]
    assert line.endswith(" 1/1")
    assert summary.startswith("1 hold, 0 do not; negative controls refuted: 1 of 1; ")


def broken_conclusion() -> Obligation:
    """Claim of `safety/halted` that nobody has finished."""
    (claim,) = HALTED.claims().values()
    return replace(HALTED, claims=lambda: {"": Claim(claim.given, BoolVal(False))})


@pytest.mark.parametrize(
    ("obligation", "verdict", "said"),
    [
        (broken_conclusion(), "unknown", "the claim: unknown"),
        (replace(HALTED, claims=lambda: {"": FALSE}), "refuted", "the claim: refuted"),
        (replace(HALTED, small=lambda: {"": Claim((BoolVal(False),), BoolVal(True))}), "vacuous", "satisfiable"),
        (replace(HALTED, controls=()), "proved", "it has no negative control"),
        (
            replace(HALTED, controls=(Control("nothing is broken", lambda: Claim((), BoolVal(True))),)),
            "proved",
            "negative control not refuted: nothing is broken",
        ),
    ],
    ids=["broken conclusion", "false", "contradictory hypotheses", "no control", "control not refuted"],
)
def test_a_theorem_that_does_not_hold_makes_the_whole_fail(
    monkeypatch: pytest.MonkeyPatch, obligation: Obligation, verdict: str, said: str
) -> None:
    """The negative control of `prove` itself: with one worthless theorem among good ones it exits with 1."""
    only(monkeypatch, GOOD, provers.of_obligation(obligation), GOOD)
    result = run()
    assert result.exit_code == 1
    assert f" {verdict} " in result.output
    assert said in result.output
    assert HALTED.statement in result.output
    assert "2 hold, 1 do not" in result.output


@pytest.mark.parametrize(
    "arguments", [("--only", "coq"), ("-k", "no such theorem"), ("--require", "z3"), ("extra",)], ids=str
)
def test_bad_arguments_exit_with_2(arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2


def test_parts_can_be_combined_and_searched_by_statement() -> None:
    """`--only` can be given twice, and `-k` looks into statements, in any case of letters."""
    assert len(catalogue.theorems(["dafny", "crosshair"])) == len(dafny.THEOREMS) + 8 + len(replaying.core_variants())
    assert {theorem.name for theorem in catalogue.theorems(["z3"], "GRAHAM")} == {"costs/graham", "false/online-graham"}
    assert [theorem.name for theorem in catalogue.theorems(["z3"], "is in two slots")] == ["safety/slots-distinct"]


def test_help_needs_no_prover() -> None:
    """The command is there before z3, rich and Hypothesis are imported."""
    code = "import sys, conformance.proving.command; print(sorted({'z3', 'rich', 'hypothesis'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# -- Interrupts --------------------------------------------------------------------------------------


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def pressed() -> Outcome:
    press()
    return Outcome("proved", ("broken",))


def pressed_and_lost() -> Outcome:
    try:
        press()
    except KeyboardInterrupt:
        return Outcome("proved", ("broken",))
    raise AssertionError


def pressed_and_changed() -> Outcome:
    try:
        press()
    except KeyboardInterrupt:
        raise ValueError("what a library made of it") from None
    raise AssertionError


@pytest.mark.parametrize("check", [pressed, pressed_and_lost, pressed_and_changed])
def test_an_interrupt_exits_with_130_and_starts_nothing_more(
    monkeypatch: pytest.MonkeyPatch, check: Callable[[], Outcome], tmp_path: Path
) -> None:
    """Also where the interrupt was swallowed on the way, as z3 does; and no file is written."""
    before = signal.getsignal(signal.SIGINT)
    only(monkeypatch, GOOD, replace(GOOD, check=check), told("never/reached", Outcome("refuted")))
    result = run("--json", str(tmp_path / "out.json"))
    assert list(tmp_path.iterdir()) == []
    assert result.exit_code == 130
    assert "Interrupted after" in result.output
    assert "never/reached" not in result.output
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_during_a_proof_exits_with_130() -> None:
    """z3 does not keep it for itself."""
    code = "from conformance.proving.command import prove; prove(['--only', 'z3'])"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        heading, first = process.stdout.readline(), process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert heading.startswith("theorem")
    assert first.startswith("safety/ranges")
    assert rest.endswith(" of 54 theorems.\n")
    assert process.returncode == 130


# -- The file ----------------------------------------------------------------------------------------


def test_the_file_has_what_is_printed_and_the_controls_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    only(monkeypatch, GOOD, told("bad/one", Outcome("refuted", (), ("why",))))
    target = tmp_path / "out.json"
    assert run("--json", str(target)).exit_code == 1
    data = json.loads(target.read_text(encoding="utf-8"))
    good, bad = data["theorems"]
    assert (data["schema"], data["holds"]) == (1, False)
    assert good["holds"] is True
    assert good["controls"] == {"broken": True}
    assert {key: bad[key] for key in ("name", "verdict", "holds", "details")} == {
        "name": "bad/one", "verdict": "refuted", "holds": False, "details": ["why"],
    }  # fmt: skip
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_that_cannot_be_written_exits_with_2(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    only(monkeypatch, GOOD)
    assert run("--json", str(tmp_path / "nowhere" / "out.json")).exit_code == 2


# -- Dafny -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "environment", "status"),
    [((), {"CI": ""}, 0), ((), {"CI": "true"}, 1), (("--require", "dafny"), {"CI": ""}, 1)],
    ids=["at home", "in CI", "required"],
)
def test_without_dafny_its_theorems_are_not_run(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], environment: dict[str, str], status: int
) -> None:
    """The line that installs it is printed; and that nothing was run is no pass where it is required."""
    monkeypatch.setenv("PATH", "")
    provers.verified.cache_clear()
    result = CliRunner(env=environment).invoke(prove, ["--only", "dafny", *arguments])
    assert result.exit_code == status
    assert "apt-get install dafny" in result.output
    assert result.output.count("not run") == len(dafny.THEOREMS) + 1
    assert "0 hold, 0 do not, 6 not run" in result.output


VERIFIED = dafny.Verdict(1, (), 0.0)
FAILED = dafny.Verdict(1, (dafny.Failure("Generate", "a postcondition might not hold"),), 0.0)


@pytest.mark.parametrize(
    ("verdict", "rejected", "status", "said"),
    [
        (VERIFIED, True, 0, "6 hold"),
        (VERIFIED, False, 1, "negative control not refuted: contradiction"),
        (FAILED, True, 1, "Generate: a postcondition might not hold"),
    ],
    ids=["verified", "a broken copy verifies too", "a lemma fails"],
)
def test_dafny_is_believed_only_with_its_controls(
    monkeypatch: pytest.MonkeyPatch, verdict: dafny.Verdict, rejected: bool, status: int, said: str
) -> None:
    monkeypatch.setattr(provers, "verified", lambda: verdict)
    monkeypatch.setattr(provers, "rejected", lambda name: rejected)
    result = run("--only", "dafny")
    assert result.exit_code == status
    assert said in result.output


def test_what_dafny_is_told_to_believe_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provers, "verified", lambda: VERIFIED)
    monkeypatch.setattr(provers, "rejected", lambda name: True)
    monkeypatch.setattr(provers, "text", lambda: "lemma L() { assume false; } // {:axiom}")
    result = run("--only", "dafny", "-k", "dafny/bounded")
    assert result.exit_code == 1
    assert "assume: taken on trust" in result.output
    assert "axiom" not in result.output


# -- CrossHair and the bridge ------------------------------------------------------------------------


def test_crosshair_confirms_a_shape_and_finds_the_needle() -> None:
    result = run("--only", "crosshair", "-k", "crosshair/needle")
    assert result.exit_code == 0, result.output
    assert " confirmed " in result.output


def test_crosshair_refutes_a_flawed_variant() -> None:
    outcome = symbolic.check_shapes("variants.flawed.off_by_one_limit_fewer", PATIENT[1:2])
    assert outcome.verdict == "refuted", outcome
    assert "violates" in outcome.details[0]


def test_threads_are_not_followed() -> None:
    """The variant with threads is left the shapes in which it starts none."""
    assert len(symbolic.followed("variants.threads_barrier")) == 4
    assert len(symbolic.followed("variants.columns")) == len(PATIENT) == 8


@pytest.mark.parametrize("name", ["bridge/fair-", "replay/columns", "lines/chunked", "turns/ring"])
def test_the_bridge_holds(name: str) -> None:
    result = run("--only", "bridge", "-k", name)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("replay", "name"),
    [
        (bridges.core_replay, "lifo_queue"),
        (bridges.cached_replay, "cached_no_reset"),
        (bridges.engine_replay, "engine_newest_first"),
        (bridges.fair_replay, "fair_never_yields"),
    ],
)
def test_a_flawed_variant_does_not_replay(replay: Callable[[str], Theorem], name: str) -> None:
    line = replay(f"variants.flawed.{name}").decide()
    assert line.outcome.verdict == "broken"
    assert not line.holds
    assert "is not accepted" in line.outcome.details[0]


def test_every_control_of_a_comparison_is_needed() -> None:
    """A comparison in which a control finds no difference does not hold."""
    theorem = bridges.compared("x/y", "It is so.", "everything", recursion.compare_encoding, {})
    assert not theorem.decide().holds
    vacuous = replace(theorem, controls=("same",), check=lambda: bridges.check_comparison(same, {"same": same}))
    assert vacuous.decide().outcome == Outcome("holds")
    assert not vacuous.decide().holds


def same() -> Compared:
    return Compared({"case": 1})
