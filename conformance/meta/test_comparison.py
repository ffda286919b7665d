"""`slotspec compare`: its figures come from real runs, its pictures are sound, its page is fresh."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from functools import cache
from heapq import heapreplace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

import reference.generate
from conformance.comparison import page, palette, static
from conformance.comparison.command import compare as command
from conformance.comparison.measure import Comparison, RecordingModel, compare, record
from conformance.comparison.render import render_html, render_svg
from conformance.comparison.timeline import Gap, Row, Stay, bin_size, bins, busy_share, gaps, slot_lanes
from conformance.comparison.workload import DESCRIPTIONS, DISTRIBUTIONS, Workload, draw
from reference.vocabulary import Dialect, Request

SVG = "{http://www.w3.org/2000/svg}"
steady = settings(derandomize=True, database=None, deadline=None, max_examples=100)

sizes = st.integers(0, 9)
workloads = st.builds(
    lambda pairs, slots: Workload(tuple(a for a, _ in pairs), tuple(b for _, b in pairs), slots),
    st.lists(st.tuples(sizes, sizes), min_size=1, max_size=14),
    st.integers(1, 6),
)


def workload(lengths: str, num_slots: int, prompt: int = 1) -> Workload:
    numbers = tuple(int(piece) for piece in lengths.split())
    return Workload(numbers, (prompt,) * len(numbers), num_slots)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, env={"COLUMNS": "80", "NO_COLOR": "1"}, catch_exceptions=False)


# -- Static batching ---------------------------------------------------------------------------------


class Echo:
    """A model whose reply depends on the whole prefix, and is the stop token, 0, now and then."""

    def next_tokens(self, batch: list[list[int]]) -> list[int]:
        return [(sum(row) * 7 + len(row) * 3 + 1) % 5 for row in batch]


@steady
@given(
    st.lists(st.tuples(st.lists(st.integers(0, 4), max_size=4), st.integers(0, 9)), max_size=9),
    st.integers(1, 5),
    st.builds(
        Dialect,
        st.sampled_from(["new", "total"]),
        st.sampled_from(["included", "excluded"]),
        st.sampled_from(["compact", "padded"]),
    ),
)
def test_static_batching_generates_the_tokens_that_the_reference_generates(
    pairs: list[tuple[list[int], int]], num_slots: int, dialect: Dialect
) -> None:
    requests = [Request(f"r{index}", prompt, limit) for index, (prompt, limit) in enumerate(pairs)]
    expected = reference.generate.generate(Echo(), requests, num_slots, 0, dialect=dialect)
    assert static.generate(Echo(), requests, num_slots, 0, dialect=dialect) == expected


def test_a_static_batch_starts_only_when_all_of_the_one_before_have_finished() -> None:
    calls = record(static.generate, workload("3 0 1 2 2", 2), "compact")
    assert [[row.request for row in call] for call in calls] == [[0, 2], [0], [0], [3, 4], [3, 4]]
    assert [[row.prefix for row in call] for call in calls] == [[1, 1], [2], [3], [1, 1], [2, 2]]


def test_a_padded_static_call_always_has_as_many_rows_as_slots() -> None:
    calls = record(static.generate, workload("3 1 2", 2), "padded")
    assert [[row.request for row in call] for call in calls] == [[0, 1], [0, None], [0, None], [2, None], [2, None]]


def test_static_batching_refuses_what_the_reference_refuses() -> None:
    class Short:
        def next_tokens(self, batch: list[list[int]]) -> list[int]:
            return []

    with pytest.raises(ValueError, match="num_slots is 0"):
        static.generate(Echo(), [], 0, 0)
    with pytest.raises(ValueError, match="0 tokens for 1 rows"):
        static.generate(Short(), [Request("r", [], 1)], 1, 0)


# -- Figures -----------------------------------------------------------------------------------------


def test_the_figures_of_a_small_example_are_those_worked_out_by_hand() -> None:
    both = compare(workload("3 1 4 1 5", 2, prompt=2))
    static_run, continuous = both.runs
    assert [len(run.calls) for run in both.runs] == [12, 9]
    assert (both.workload.lower_bound, both.workload.upper_bound) == (7, 9)
    assert [run.rows for run in both.runs] == [14, 14]
    assert [run.idle for run in both.runs] == [10, 4]
    assert [run.pad_rows for run in both.runs] == [10, 4]
    assert [run.idle_while_waiting for run in both.runs] == [5, 0]
    assert [call.prefix_tokens for call in static_run.calls] == [4, 3, 4, 4, 3, 4, 5, 2, 3, 4, 5, 6]
    assert [call.new_tokens for call in static_run.calls] == [4, 1, 1, 4, 1, 1, 1, 2, 1, 1, 1, 1]
    assert [call.prefix_tokens for call in continuous.calls] == [4, 5, 7, 6, 7, 3, 4, 5, 6]
    assert [call.new_tokens for call in continuous.calls] == [4, 3, 2, 3, 3, 1, 1, 1, 1]
    assert continuous.lanes == ((Stay(0, 0, 3), Stay(3, 3, 4), Stay(4, 4, 9)), (Stay(1, 0, 1), Stay(2, 1, 5)))


def static_calls(lengths: list[int], num_slots: int) -> int:
    return sum(max(lengths[start : start + num_slots]) for start in range(0, len(lengths), num_slots))


def continuous_calls(lengths: list[int], num_slots: int) -> int:
    free_from = [0] * num_slots
    ends = []
    for length in lengths:
        ends.append(free_from[0] + length)
        heapreplace(free_from, ends[-1])
    return max(ends, default=0)


@steady
@given(workloads)
def test_the_runs_make_as_many_calls_as_the_formulas_say(given_work: Workload) -> None:
    both = compare(given_work)
    sent = [length for length in given_work.lengths if length]
    assert len(both.static.calls) == static_calls(sent, given_work.num_slots)
    assert len(both.continuous.calls) == continuous_calls(sent, given_work.num_slots)


@steady
@given(workloads)
def test_continuous_calls_stay_within_the_bounds_and_never_exceed_static_ones(given_work: Workload) -> None:
    both = compare(given_work)
    calls, slots = len(both.continuous.calls), given_work.num_slots
    total, longest = sum(given_work.lengths), max(given_work.lengths)
    assert max(longest, -(-total // slots)) == given_work.lower_bound <= calls <= given_work.upper_bound
    assert slots * calls <= total + (slots - 1) * longest
    assert calls <= len(both.static.calls)


@steady
@given(workloads)
def test_both_runs_do_the_same_work_and_continuous_pads_no_more(given_work: Workload) -> None:
    both = compare(given_work)
    pairs = [pair for pair in zip(given_work.lengths, given_work.prompt_lengths, strict=True) if pair[0]]
    for run in both.runs:
        assert run.rows == sum(given_work.lengths)
        assert run.prefix_tokens == sum(prompt + done for length, prompt in pairs for done in range(length))
        assert run.new_tokens == sum(prompt + length - 1 for length, prompt in pairs)
        assert run.pad_rows == run.idle == given_work.num_slots * len(run.calls) - run.rows
        assert all(1 <= call.rows <= given_work.num_slots for call in run.calls)
    assert both.continuous.pad_rows <= both.static.pad_rows
    assert both.continuous.idle_while_waiting == 0


@pytest.mark.parametrize(("lengths", "num_slots"), [("4 4 4 4 4", 2), ("3 3 1 1 7 7", 2), ("5 1 3", 1), ("5 1 3", 3)])
def test_there_is_no_difference_where_the_page_says_so(lengths: str, num_slots: int) -> None:
    both = compare(workload(lengths, num_slots))
    assert both.static.calls == both.continuous.calls
    assert both.static.lanes == both.continuous.lanes


def test_the_lower_bound_is_not_always_reached() -> None:
    both = compare(workload("1 1 2", 2))
    assert (len(both.continuous.calls), both.workload.lower_bound) == (3, 2)


@pytest.mark.parametrize(("num_slots", "harmonic"), [(2, 1.5), (4, 2.08), (8, 2.72)])
def test_geometric_lengths_cost_static_batching_about_a_harmonic_number(num_slots: int, harmonic: float) -> None:
    lengths = draw("geometric", 1000, 20, seed=1)
    both = compare(Workload(lengths, (1,) * len(lengths), num_slots))
    assert len(both.static.calls) / len(both.continuous.calls) == pytest.approx(harmonic, rel=0.05)


# -- Workloads ---------------------------------------------------------------------------------------

DRAWN = {
    "constant": (20, 20, 20, 20, 20, 20),
    "uniform": (18, 18, 11, 36, 4, 19),
    "geometric": (12, 12, 6, 46, 2, 13),
    "bimodal": (10, 10, 10, 60, 10, 10),
    "lognormal": (4, 23, 8, 1, 7, 13),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_seed_draws_the_same_lengths_for_ever(name: str) -> None:
    assert draw(name, 6, 20, seed=3) == DRAWN[name]
    assert (draw(name, 6, 20, seed=4) == DRAWN[name]) == (name == "constant")


@pytest.mark.parametrize("mean", [1, 2, 20])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_drawn_lengths_are_at_least_1_and_have_the_mean_asked_for(name: str, mean: int) -> None:
    lengths = draw(name, 20_000, mean, seed=0)
    assert min(lengths) >= 1
    if mean == 20:
        assert sum(lengths) / len(lengths) == pytest.approx(mean, rel=0.03)


def test_every_distribution_is_described_and_prompts_have_a_stream_of_their_own() -> None:
    assert list(DISTRIBUTIONS) == list(DESCRIPTIONS) == list(DRAWN)
    assert draw("uniform", 6, 20, seed=3, stream="prompts") != DRAWN["uniform"]


# -- Timelines ---------------------------------------------------------------------------------------


@steady
@given(workloads)
def test_the_lanes_are_the_row_positions_of_the_padded_run(given_work: Workload) -> None:
    for name, implementation in (("static", static.generate), ("continuous", reference.generate.generate)):
        run = getattr(compare(given_work), name)
        padded = record(implementation, given_work, "padded")
        held: list[list[int | None]] = [[None] * given_work.num_slots for _ in padded]
        for slot, lane in enumerate(run.lanes):
            for request, start, end in lane:
                for call in range(start, end):
                    held[call][slot] = request
        assert held == [[row.request for row in call] for call in padded]


@steady
@given(workloads)
def test_stays_and_gaps_of_a_slot_cover_every_call_once(given_work: Workload) -> None:
    for run in compare(given_work).runs:
        covered = []
        for lane in run.lanes:
            spans: list[Stay | Gap] = [*lane, *gaps(lane, len(run.calls), run.waits_until)]
            covered.append(sorted(call for span in spans for call in range(span.start, span.end)))
        assert covered == [list(range(len(run.calls)))] * given_work.num_slots
        idle = [gap for lane in run.lanes for gap in gaps(lane, len(run.calls), run.waits_until)]
        assert sum(gap.end - gap.start for gap in idle if gap.waiting) == run.idle_while_waiting


def test_a_request_keeps_its_slot_when_compact_rows_move_up() -> None:
    calls = [[Row(0, 1), Row(1, 1)], [Row(1, 2)], [Row(1, 3), Row(2, 1)]]
    assert slot_lanes(calls, 2) == ((Stay(0, 0, 1), Stay(2, 2, 3)), (Stay(1, 0, 3),))


def test_calls_are_binned_without_loss() -> None:
    assert [bin_size(calls, 4) for calls in (0, 1, 4, 5, 9)] == [1, 1, 1, 2, 3]
    assert bins(9, 4) == [(0, 4), (4, 8), (8, 9)]
    assert busy_share((Stay(0, 1, 3), Stay(1, 8, 9)), bins(9, 4)) == [0.5, 0.0, 1.0]


def test_a_row_belongs_to_the_request_whose_result_has_its_token() -> None:
    def backwards(model: RecordingModel, requests: list[Request], *_: Any, **__: Any) -> dict[str, list[int]]:
        tokens = model.next_tokens([request.prompt for request in reversed(requests)])
        return {request.request_id: [token] for request, token in zip(reversed(requests), tokens, strict=True)}

    given_work = Workload((1, 1), (3, 0), 2)
    assert record(backwards, given_work, "compact") == [(Row(1, 0), Row(0, 3))]


# -- The terminal ------------------------------------------------------------------------------------

SHAPES = {
    "exact": ["--lengths", "3,1,4,1,5", "--slots", "2"],
    "letters": ["--distribution", "uniform", "--requests", "20", "--mean", "8"],
    "scaled": ["--distribution", "geometric", "--requests", "900", "--slots", "40"],
    "huge numbers": ["--lengths", "99,1,1", "--prompt-lengths", "123456"],
    "long lists": ["--lengths", ",".join(["300"] * 40), "--prompt-lengths", ",".join("01" * 20), "--slots", "40"],
    "nothing to do": ["--lengths", "0,0"],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_terminal_output_fits_80_columns(shape: str) -> None:
    result = invoke(*SHAPES[shape])
    assert result.exit_code == 0
    assert max(cell_len(line) for line in result.output.splitlines()) <= 80
    assert re.match(r"Static( and continuous:)? [\d,]+ calls?", result.output)


def test_a_short_run_is_drawn_call_by_call_with_labels_and_costs() -> None:
    lines = [line.rstrip() for line in invoke(*SHAPES["exact"]).output.splitlines()]
    assert "Static 12 calls, continuous 9 (25 % fewer); lower bound 7." in lines
    assert "slot 1     r1  \u2571  \u2571 r3  \u2571  \u2571  \u2571  ·  ·  ·  ·  ·" in lines
    assert "slot 1     r1 r2 r2 r2 r2  ·  ·  ·  ·" in lines
    assert "no cache    2  3  5  4  5  2  3  4  5" in lines


def test_a_longer_run_is_drawn_with_one_character_a_call() -> None:
    lines = invoke("--lengths", "9,8,1,8,1,4", "--slots", "2", "--prompt-lengths", "1000").output.splitlines()
    assert [line.rstrip() for line in lines if line.startswith("slot")] == [
        "slot 0    0000000002\u2571\u2571\u2571\u2571\u2571\u2571\u25714···",
        "slot 1    11111111\u2571333333335555",
        "slot 0    00000000033333333",
        "slot 1    11111111245555···",
    ]


def test_what_is_scaled_or_cut_is_said() -> None:
    notes = " ".join(invoke(*SHAPES["scaled"]).output.split())
    assert "Scaled: one column is" in notes
    assert "Cut: the last 24 slots not drawn." in notes
    assert "Scaled" not in invoke(*SHAPES["letters"]).output
    assert "Cut" not in invoke(*SHAPES["letters"]).output


# -- Files and JSON ----------------------------------------------------------------------------------


PICTURES = ("small", "dense", "many slots", "empty")


@cache
def drawn(name: str) -> Comparison:
    lengths = draw("geometric", 900, 20, seed=1)
    workloads = {
        "small": workload("3 1 4 1 5", 2),
        "dense": Workload(lengths, (1,) * 900, 9),
        "many slots": Workload(lengths, (1,) * 900, 200),
        "empty": workload("0", 3),
    }
    return compare(workloads[name])


def boxes(svg: ElementTree.Element, style: str) -> list[str]:
    return [
        rect[0].text or ""
        for rect in svg.iter(f"{SVG}rect")
        if re.fullmatch(style, rect.get("class", "")) and len(rect)
    ]


@pytest.mark.parametrize("name", PICTURES)
def test_the_picture_is_xml_and_lies_within_its_frame(name: str) -> None:
    svg = ElementTree.fromstring(render_svg(drawn(name)))
    width, height = (float(svg.attrib[side]) for side in ("width", "height"))
    for rect in svg.iter(f"{SVG}rect"):
        assert float(rect.get("x", "0")) + float(rect.get("width", "0")) <= width
        assert float(rect.get("y", "0")) + float(rect.get("height", "0")) <= height
        assert float(rect.get("width", "0")) > 0


def test_the_picture_shows_every_stay_and_tells_the_two_kinds_of_idleness_apart() -> None:
    svg = ElementTree.fromstring(render_svg(drawn("small")))
    stays = boxes(svg, r"q\d")
    assert len(stays) == 10
    assert stays.count("r2 in slot 0: calls 4 to 7 (4)") == 1
    assert stays.count("r2 in slot 1: calls 2 to 5 (4)") == 1
    assert boxes(svg, "waste") == [
        "slot 1 idle while a request waits: calls 2 to 3 (2)",
        "slot 1 idle while a request waits: calls 5 to 7 (3)",
    ]
    assert len(boxes(svg, "idle")) == 2
    labels = [text.text for text in svg.iter(f"{SVG}text") if "label" in text.get("class", "")]
    assert sorted(labels, key=str) == ["r0", "r0", "r1", "r1", "r2", "r2", "r3", "r3", "r4", "r4"]


def test_a_picture_that_is_scaled_or_cut_says_so() -> None:
    assert "Scaled: one column is" in render_svg(drawn("dense"))
    assert "Cut: the last 136 slots not drawn." in render_svg(drawn("many slots"))
    assert not re.search("Scaled|Cut", render_svg(drawn("small")))


@pytest.mark.parametrize("render", [render_svg, render_html])
def test_a_file_needs_no_network_and_follows_the_reader_s_light_or_dark(render: Callable[[Comparison], str]) -> None:
    text = render(drawn("small"))
    assert "prefers-color-scheme: dark" in text
    assert set(re.findall(r"\w+://[^\s\"'<)]*", text)) == {"http://www.w3.org/2000/svg"}
    assert set(re.findall(r"url\([^)]*\)", text)) == {"url(#hatch)"}
    assert not re.search(r"<script|<link|<img|@import|\bsrc=|\bhref=", text)


def test_the_page_holds_the_picture_the_figures_and_every_call() -> None:
    text = render_html(drawn("small"))
    ElementTree.fromstring(text[text.index("<svg") : text.index("</svg>") + 6])
    assert '<th scope="row">model calls</th><td>12</td><td>9</td><td>-3 (-25 %)</td>' in text
    assert len(re.findall(r'<tr><th scope="row">\d+</th>', text)) == 12 + 9


def luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colour", palette.COLOURS)
def test_a_label_can_be_read_on_every_colour(colour: str) -> None:
    assert (luminance(colour) + 0.05) / (luminance(palette.INK) + 0.05) >= 4.5


def test_files_are_written_whole_and_replace_older_ones(tmp_path: Path) -> None:
    svg, html = tmp_path / "a.svg", tmp_path / "a.html"
    svg.write_text("old")
    result = invoke("--lengths", "3,1,4,1,5", "--slots", "2", "--svg", str(svg), "--html", str(html))
    assert result.exit_code == 0
    assert svg.read_text(encoding="utf-8") == render_svg(drawn("small"))
    assert html.read_text(encoding="utf-8") == render_html(drawn("small"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.svg"]


def test_nothing_is_written_when_one_of_the_files_cannot_be(tmp_path: Path) -> None:
    svg = tmp_path / "a.svg"
    svg.write_text("old")
    result = invoke("--lengths", "1", "--svg", str(svg), "--html", str(tmp_path / "missing" / "a.html"))
    assert result.exit_code == 2
    assert f"Error: Cannot write {tmp_path / 'missing' / 'a.html'}: No such file or directory." in result.output
    assert svg.read_text() == "old"
    assert list(tmp_path.iterdir()) == [svg]


def test_a_failure_at_the_last_moment_leaves_the_older_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    svg = tmp_path / "a.svg"
    svg.write_text("old")
    monkeypatch.setattr(os, "replace", refuse)
    result = invoke("--lengths", "1", "--svg", str(svg))
    assert (result.exit_code, svg.read_text(), list(tmp_path.iterdir())) == (2, "old", [svg])
    assert result.output.endswith(f"Error: Cannot write {svg}: Permission denied.\n")


def test_a_device_is_not_replaced_by_a_picture() -> None:
    result = invoke("--lengths", "1", "--svg", os.devnull)
    assert (result.exit_code, Path(os.devnull).is_file()) == (2, False)
    assert result.output.endswith(f"Error: Cannot write {os.devnull}: not a regular file.\n")


def test_json_has_every_call_and_agrees_with_itself() -> None:
    data = json.loads(invoke("--distribution", "bimodal", "--prompt-distribution", "uniform", "--json").output)
    assert data["workload"]["lengths"] == list(draw("bimodal", 64, 20, seed=0))
    assert data["workload"]["prompt_lengths"] == list(draw("uniform", 64, 20, seed=0, stream="prompts"))
    assert data["bounds"]["lower"] <= data["continuous"]["calls"] <= data["bounds"]["upper"]
    for name in ("static", "continuous"):
        run = data[name]
        for quantity in ("rows", "prefix_tokens", "new_tokens"):
            assert len(run["per_call"][quantity]) == run["calls"]
            assert sum(run["per_call"][quantity]) == run[quantity]
        assert sum(stay["end"] - stay["start"] for lane in run["slots"] for stay in lane) == run["rows"]


# -- Bad input ---------------------------------------------------------------------------------------

BAD = {
    "--lengths 3,x": "Invalid value for '--lengths': 'x' is not a whole number; write for example 3,1,4,1,5.",
    "--lengths 1.5": "Invalid value for '--lengths': '1.5' is not a whole number; write for example 3,1,4,1,5.",
    "--lengths 1,,2": "Invalid value for '--lengths': '' is not a whole number; write for example 3,1,4,1,5.",
    "--lengths -1,2": "Invalid value for '--lengths': -1 is below 0.",
    "--lengths=": "Invalid value for '--lengths': give at least one number.",
    "--lengths 1 --slots 0": "Invalid value for '--slots': 0 is not in the range 1<=x<=10000.",
    "--distribution zipf": "Invalid value for '--distribution': 'zipf' is not one of",
    "--distribution uniform --mean 0": "Invalid value for '--mean': 0 is not in the range",
    "--distribution uniform --requests 0": "Invalid value for '--requests': 0 is not in the range",
    "": "Give either --lengths or --distribution.",
    "--lengths 1 --distribution uniform": "Give either --lengths or --distribution.",
    "--lengths 1 --mean 2 --requests 3": "--requests and --mean go with --distribution only.",
    "--lengths 1 --seed 2": "--seed goes with --distribution or --prompt-distribution only.",
    "--lengths 1 --prompt-mean 2": "--prompt-mean goes with --prompt-distribution only.",
    "--lengths 1,2,3 --prompt-lengths 1,2": "Invalid value for '--prompt-lengths': 2 numbers for 3 requests; give one",
    "--lengths 1 --prompt-lengths -3": "Invalid value for '--prompt-lengths': -3 is below 0.",
    "--lengths 1 --prompt-lengths 1 --prompt-distribution uniform": "Give either --prompt-lengths or",
    "--lengths 1 --svg a --html a": "--svg and --html name the same file.",
    "--lengths 1 --svg .": "Invalid value for '--svg': File '.' is a directory.",
    "--lengths 9999999999": "The runs are real, and this one handles up to",
}


@pytest.mark.parametrize("arguments", BAD)
def test_bad_input_gives_one_clear_line_and_exit_status_2(arguments: str) -> None:
    result = invoke(*arguments.split())
    assert result.exit_code == 2
    usage, hint, empty, error = result.output.splitlines()
    assert (usage, hint, empty) == ("Usage: compare [OPTIONS]", "Try 'compare --help' for help.", "")
    assert error.startswith(f"Error: {BAD[arguments]}")


def test_requests_of_length_0_are_legal_and_change_no_call() -> None:
    with_zeros, without = compare(workload("0 3 0 1 2 0", 2)), compare(workload("3 1 2", 2))
    assert [run.calls for run in with_zeros.runs] == [run.calls for run in without.runs]
    assert invoke("--lengths", "0,0").exit_code == 0


# -- The page of the documentation -------------------------------------------------------------------


def page_text() -> str:
    return (page.ROOT / page.PAGE).read_text(encoding="utf-8")


def test_the_page_shows_what_the_command_prints_and_draws_today(tmp_path: Path) -> None:
    assert len(page.BLOCK.findall(page_text())) == page_text().count("<!-- end -->") == 8
    assert page.regenerate(page_text(), tmp_path) == page_text()
    fresh = {path.name: path.read_bytes() for path in (tmp_path / "docs" / "img").iterdir()}
    assert sorted(fresh) == ["equal.svg", "geometric.svg", "small.svg"]
    for name, content in fresh.items():
        assert (page.ROOT / "docs" / "img" / name).read_bytes() == content, f"{name} is stale"


def test_a_figure_changed_by_hand_is_noticed(tmp_path: Path) -> None:
    true = next(match[0] for match in page.BLOCK.finditer(page_text()) if match[1] == "terminal")
    edited = true.replace("Static 12 calls", "Static 13 calls")
    assert edited != true
    assert page.regenerate(edited, tmp_path) == true


def test_every_other_command_on_the_page_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^    (slotspec compare [^|\n]*)", page_text(), re.MULTILINE)
    assert len(commands) == 3
    assert all(page.run(line) for line in commands)
