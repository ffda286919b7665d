"""Real engines: declared deviations are checked with their bounds, and the page says what the records say."""

from __future__ import annotations

import ast
from itertools import islice
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.engine import scope
from conformance.engine.catalogue import ENGINE, judge, judged
from conformance.engine.drive import drive, maker
from conformance.engine.edits import edits
from conformance.engine.study import Finding
from conformance.engines import adapters, page
from conformance.engines.adapters import Adapter, described
from conformance.engines.command import engines
from conformance.engines.lenient import read
from conformance.engines.record import FOLDER, kept, recorded
from conformance.engines.scripts import Played, plan
from conformance.engines.study import EngineStudy, statuses
from conformance.engines.weaker import FORMS, NEVER, PolicyError, Slack, declared
from conformance.meta import pipelined
from conformance.targets import TargetError
from reference import engine
from reference.vocabulary import Dialect

PLAIN = Dialect()


def pipelined_with(policy: dict[str, tuple[str, str]] | None = None, **flags: Any) -> Adapter:
    """The pipelined engine, with another policy or a fault."""
    module: Any = ModuleType("pipelined_again")
    module.__dict__.update(vars(pipelined))
    module.Engine = type("Engine", (pipelined.Engine,), flags)
    module.POLICY = pipelined.POLICY if policy is None else policy
    return described("pipelined_again", module)


def studied(adapter: Adapter, examples: int) -> EngineStudy:
    study = EngineStudy(adapter, shrinking=False)
    study.campaign(0, examples, float("inf"))
    return study


def test_with_nothing_declared_it_accepts_what_the_strict_reader_accepts() -> None:
    """Every single edit of a sample of the first look: the two readers agree."""
    scripts = (s for s in scope.first_look(PLAIN) if s.situation in ("plain", "arguments"))
    count, wrong, disagreements = 0, 0, []
    for script in islice(scripts, 0, None, 251):
        for history in edits(drive(maker(engine, PLAIN), script)):
            count += 1
            strict = judge(history, PLAIN).violations
            wrong += bool(strict)
            if bool(strict) != bool(judged(read(history, PLAIN, Slack())).violations):
                disagreements.append(history)
    assert disagreements == []
    assert (count, wrong) == (EDITS, WRONG)


EDITS, WRONG = 5_290, 4_507


def test_a_right_engine_holds_what_it_declares() -> None:
    """The pipelined engine keeps its weaker promises, and each of them occurs."""
    study = studied(pipelined_with(), 1_500)
    assert study.findings == {}
    assert study.idle() == []
    found = statuses(study)
    assert {name for name, status in found.items() if status == "weaker"} == set(pipelined.POLICY)
    assert sum(status == "holds" for status in found.values()) >= 12


@pytest.mark.parametrize("left_out", pipelined.POLICY)
def test_what_is_not_declared_is_found(left_out: str) -> None:
    """Without any one of its declarations, the pipelined engine breaks that promise."""
    policy = {name: value for name, value in pipelined.POLICY.items() if name != left_out}
    assert left_out in studied(pipelined_with(policy), 1_500).findings


def test_a_bound_is_a_bound() -> None:
    """Two calls a step are too many for who declares one delay of another kind; three for who declares two."""
    slack = Slack(declared({"arrival/one-call": ("a step makes at most 2 calls", "why")}))
    assert slack.allows("calls", 2)
    assert not slack.allows("calls", 3)
    assert slack.used == {"calls": 2}


def test_a_declared_deviation_that_does_not_occur_is_told() -> None:
    policy = {"stream/immediate": ("a token is emitted at most 3 steps after its step", "none")}
    module: Any = ModuleType("on_time")
    module.__dict__.update(vars(engine), ENGINE="On time", PACKAGES=(), POLICY=policy)
    study = studied(described("on_time", module), 100)
    assert study.findings == {}
    assert [one.invariant for one in study.idle()] == ["stream/immediate"]


def test_a_fault_is_found_through_the_slack() -> None:
    """An engine that tells an ending and forgets to end is not excused by what it declares."""
    findings = studied(pipelined_with(forgets=True), 300).findings
    assert "stream/awaited" in findings or "stream/one-ending" in findings


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ([], "should be a dict"),
        ({"abort/silent": ("tokens may come", "why")}, "cannot waive abort/silent"),
        ({"arrival/one-call": ("a step makes some calls", "why")}, "the forms for it are: 'a step makes at most {n}"),
        ({"arrival/one-call": ("a step makes at most 0 calls", "why")}, "the forms for it are"),
        ({"arrival/one-call": "two calls"}, "(weaker promise, reason)"),
        ({"arrival/one-call": ("a step makes at most 2 calls", "")}, "(weaker promise, reason)"),
        ({"no/promise": ("x", "why")}, "the forms for it are: none"),
    ],
)
def test_a_bad_policy_gets_a_clear_line(policy: Any, said: str) -> None:
    with pytest.raises(PolicyError, match=r"POLICY") as raised:
        declared(policy)
    assert said in str(raised.value)


def test_every_form_loosens_a_promise_that_there_is() -> None:
    assert {form.invariant for form in FORMS} <= set(ENGINE)
    assert set(NEVER) <= set(ENGINE)
    assert not {form.invariant for form in FORMS} & set(NEVER)


def test_the_plan_is_the_same_for_the_same_seed() -> None:
    adapter = pipelined_with()
    first, again, other = (list(islice(plan(adapter, seed), 60)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert {leg for leg, _ in first} >= {"wide", "small scope, aborts"}


def test_an_engine_with_a_model_of_its_own_is_given_its_replies() -> None:
    """Nothing fails and nothing happens inside a call, and the model is the engine's."""
    module: Any = ModuleType("fixed_model")
    module.__dict__.update(vars(engine), ENGINE="Fixed", PACKAGES=(), PURE_MODEL=lambda prefix: sum(prefix) % 5)
    adapter = described("fixed_model", module)
    scripts = [script for _, script in islice(plan(adapter, 0), 100)]
    assert all(isinstance(script, Played) for script in scripts)
    assert not [move for script in scripts for move in script.moves if move.what == "fail" or move.where == "call"]
    assert scripts[0].reply([(3, 4)]) == [2]
    study = studied(adapter, 150)
    assert study.findings == {}
    assert study.judged["stream/finish"] > 100


def test_a_prefix_that_the_model_cannot_decide_is_not_given() -> None:
    """A tie is skipped, as rounding would decide it; the others are tried."""

    def undecided(prefix: tuple[int, ...]) -> int:
        if len(prefix) == 2:
            raise LookupError("two tokens are too close")
        return 7

    module: Any = ModuleType("pipelined_pure")
    module.__dict__.update(vars(pipelined))
    module.PURE_MODEL = undecided
    given = [script for _, script in islice(plan(described("pipelined_pure", module), 0), 60)]
    generating = [ask for script in given for ask in script.asks if ask.max_tokens > 0]
    assert len(generating) > 20
    assert all(not len(ask.prompt) <= 2 < len(ask.prompt) + ask.max_tokens for ask in generating)


def test_what_cannot_be_seen_is_not_said_to_hold() -> None:
    module: Any = ModuleType("pipelined_unseen")
    module.__dict__.update(vars(pipelined))
    module.UNSEEN = {"arrival/rejected": "nothing shows it"}
    study = studied(described("pipelined_unseen", module), 200)
    assert study.judged["arrival/rejected"] > 0
    assert statuses(study)["arrival/rejected"] == "not tried"
    assert recorded(study, 0).invariants["arrival/rejected"][2] == "nothing shows it"
    assert statuses(studied(pipelined_with(), 200))["arrival/rejected"] == "holds"


def test_what_an_adapter_is_told_about() -> None:
    """Each is short, and pins what it drives."""
    for name, constants in adapters.names().items():
        path = adapters.FOLDER / f"{name.rpartition('.')[2]}.py"
        assert len(path.read_text().splitlines()) < 200, path
        assert constants["PACKAGES"], path
        assert constants.get("EXTRA") or constants.get("INSTALL"), path


def test_the_page_is_fresh() -> None:
    """`python -m conformance.engines.page` changes nothing, and there is a record for every adapter."""
    text = page.PAGE.read_text(encoding="utf-8")
    assert len(page.SPLICE.findall(text)) == 3
    assert page.spliced(text, kept()) == text
    assert {record.adapter for record in kept()} == set(adapters.names())


INSTALLED = [name for name, constants in adapters.names().items() if not adapters.lacking(constants)]


@pytest.mark.parametrize("name", INSTALLED or [pytest.param("", marks=pytest.mark.skip("no engine is installed"))])
def test_an_installed_engine_is_as_recorded(name: str) -> None:
    """A short run finds nothing that the record has not, and something where it has."""
    study = studied(adapters.adapter(name), 400)
    (record,) = [record for record in kept() if record.adapter == name]
    known = {invariant for invariant, (status, *_) in record.invariants.items() if status == "violated"}
    assert study.tried.total() == 400
    assert set(study.findings) <= known
    assert bool(study.findings) == bool(known)


def test_a_stale_page_would_be_noticed() -> None:
    record = recorded(studied(pipelined_with(), 50), 0)
    text = page.PAGE.read_text(encoding="utf-8")
    assert "Pipelined" in page.spliced(text, [record])


def test_a_violation_is_on_the_page() -> None:
    study = studied(pipelined_with({}), 60)
    assert study.findings
    made = page.blocks([recorded(study, 0)])
    finding: Finding = next(iter(study.findings.values()))
    assert f"{finding.invariant} violated" in made["details"]
    assert "**violated**" in made["promises"]


def test_the_scripts_of_findings_stand_alone() -> None:
    """Under 40 lines, nothing of ours is imported, and the promise is named that is broken."""
    for path in FOLDER.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) < 40, path
        imported = {n.module or "" for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ImportFrom)}
        assert not [name for name in imported if name.startswith(("conformance", "reference", "variants"))], path
        assert any(name in text for name in ENGINE), path
        assert f"variants.engines.{path.name.partition('__')[0]}" in adapters.names(), path


def test_the_command_lists_the_adapters_and_refuses_others() -> None:
    listed = CliRunner().invoke(engines, ["--list"])
    assert listed.exit_code == 0
    assert len(listed.output.splitlines()) == len(adapters.names())
    refused = CliRunner().invoke(engines, ["no_such_engine"])
    assert refused.exit_code == 2
    assert "no such adapter" in refused.output


def test_an_engine_that_is_not_installed_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    constants = {"ENGINE": "X", "PACKAGES": ("no-such-package-here",), "EXTRA": "x"}
    monkeypatch.setattr(adapters, "names", lambda: {"variants.engines.x": constants})
    with pytest.raises(TargetError, match=r"no-such-package-here not installed; pip install 'slotspec\[x\]'"):
        adapters.adapter("x")
