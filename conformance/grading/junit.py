"""Verdicts as JUnit XML: a suite for each candidate, a test case for each invariant."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from conformance.catalogue import CATALOGUE
from conformance.grading.render_text import block, broken, clean
from conformance.grading.schema import InvariantReport, PromiseReport, Verdict

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """Leave out what XML cannot hold."""
    return NOT_XML.sub("\ufffd", text)


def render(verdicts: Iterable[Verdict]) -> str:
    """Render all of them as one document."""
    root = ElementTree.Element("testsuites", name="slotspec")
    totals = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for verdict in verdicts:
        suite = _suite(verdict)
        root.append(suite)
        for key in totals:
            totals[key] += int(suite.get(key, 0))
    root.attrib.update({key: str(value) for key, value in totals.items()})
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _suite(verdict: Verdict) -> ElementTree.Element:
    name = xml_text(clean(verdict.candidate.target))
    suite = ElementTree.Element("testsuite", name=name, time=f"{verdict.seconds:.3f}")
    stem = xml_text(clean(Path(verdict.candidate.target).stem))
    properties = ElementTree.SubElement(suite, "properties")
    facts = {
        "verdict": verdict.verdict,
        "score": f"{verdict.score.earned:g}/{verdict.score.possible:g}",
        "dialect": ",".join(f"{axis}={value}" for axis, value in verdict.dialect.axes.items()),
        "seed": str(verdict.seed),
        "sha256": verdict.candidate.sha256 or "",
    }
    for key, value in facts.items():
        ElementTree.SubElement(properties, "property", name=key, value=value)
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0, "right": 0}
    for report in verdict.invariants:
        case = ElementTree.SubElement(suite, "testcase", name=report.name, classname=f"{stem}.{report.level}")
        counts["tests"] += 1
        counts[_tell(case, verdict, report) or "right"] += 1
    for profile in verdict.profiles:
        for promise in profile.invariants:
            case = ElementTree.SubElement(suite, "testcase", name=promise.name, classname=f"{stem}.{profile.profile}")
            counts["tests"] += 1
            counts[_promise(case, promise) or "right"] += 1
    wrong = any(r.level == "MUST" and r.status == "violated" for r in verdict.invariants)
    if not wrong and not any(map(broken, verdict.profiles)):
        counts["tests"] += 1
        counts["errors"] += _whole(ElementTree.SubElement(suite, "testcase", name="verdict", classname=stem), verdict)
    del counts["right"]
    suite.attrib.update({key: str(value) for key, value in counts.items()})
    return suite


def _promise(case: ElementTree.Element, promise: PromiseReport) -> str:
    """Fill in a test case of a follow-up question; the name of the count that it adds to."""
    if promise.example is not None:
        message = xml_text(clean(f"{promise.name} violated {promise.example.place}: {promise.example.observed}"))
        if promise.level == "MUST":
            failure = ElementTree.SubElement(case, "failure", type=promise.name, message=message)
            failure.text = xml_text("\n".join(map(clean, promise.example.text.splitlines())))
            return "failures"
        ElementTree.SubElement(case, "skipped", message=f"SHOULD: {message}")
        return "skipped"
    if promise.status == "holds":
        return ""
    blocked = f" (blocked by {', '.join(promise.blocked_by)})" if promise.blocked_by else ""
    ElementTree.SubElement(case, "skipped", message=f"{promise.status}{blocked}")
    return "skipped"


def _whole(case: ElementTree.Element, verdict: Verdict) -> int:
    """Tell what no invariant tells: that it could not be loaded, or timed out, or that we failed."""
    if verdict.verdict == "conforming":
        return 0
    error = ElementTree.SubElement(case, "error", type=verdict.verdict, message=xml_text(clean(verdict.reason)))
    error.text = error.get("message")
    return 1


def _tell(case: ElementTree.Element, verdict: Verdict, report: InvariantReport) -> str:
    """Fill in a test case; the name of the count that it adds to. A broken SHOULD does not fail a build."""
    if report.status == "violated" and report.counterexample is not None:
        example = report.counterexample
        message = xml_text(clean(f"{report.name} violated {example.place}: {example.observed}"))
        if report.level == "MUST" and report.charge == "charged":
            failure = ElementTree.SubElement(case, "failure", type=report.name, message=message)
            failure.text = xml_text(block(verdict, report))
            return "failures"
        why = "SHOULD: " if report.level == "SHOULD" else "a consequence: "
        ElementTree.SubElement(case, "skipped", message=f"{why}{message}")
        return "skipped"
    if report.status == "holds":
        return ""
    blocked = f" (blocked by {', '.join(report.blocked_by)})" if report.blocked_by else ""
    ElementTree.SubElement(case, "skipped", message=f"{report.status}{blocked}; {CATALOGUE[report.name].sentence}")
    return "skipped"
