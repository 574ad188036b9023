"""The page of `dpexp report`: whole, self-contained, safe whatever results hold, honest about what is missing or stale.

The last part opens pages in a browser. It needs Chromium and `pip install playwright`, and is skipped without them; with
the file of axe-core in the variable AXE_CORE it asks for findings of accessibility too.
"""

import base64
import hashlib
import json
import os
import re
import shutil
import struct
from contextlib import chdir
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

import matplotlib
import numpy as np
import pandas as pd
import pytest
from jinja2 import UndefinedError

import dpexp
from dpexp.commands import report as command
from dpexp.papers import figures
from dpexp.reporting.claim import VERDICTS
from dpexp.reporting.figure import Figure, keep, key_of, stamp
from dpexp.reporting.of_results.looks import COLOURS
from dpexp.reporting.page import figures as shown_figures
from dpexp.reporting.page import page as page_of
from dpexp.reporting.page.curves import on_dark, packed
from dpexp.reporting.page.figures import Shown, Wanted, draw, show
from dpexp.reporting.page.page import Ledger, facts_of, part, static, verdict_of
from dpexp.reporting.style import BUDGET_COLOURS, SPARE_COLOURS
from dpexp.reporting.templates import Markup, templates
from dpexp.store import load_summary
from tests.conftest import ROOT, call, of_other_code

EVIL = "</script><script>alert(1)</script>"
OWN = f"""# Mine & "yours": {EVIL} <b>bold</b>
experiment: own
problem: {{name: huber-linear, d: 5}}
schedule: {{eta: 0.2, alpha: [1/3, 1/2]}}
privacy: {{mu: [1, {{uniform: [1, 2]}}, inf]}}
run: {{n: 700, replicates: 20, seed: 3, checkpoints: 12}}
"""
RECORDS = """experiment: records
problem:
  name: softmax
  data:
  - {{path: {one}, target: income, ranges: {{age: [0, 120]}}, categories: {{income: [low, high]}}, records: 100}}
  - {{path: {two}, target: income, ranges: {{age: [0, 120]}}, categories: {{income: [low, high]}}, records: 100}}
algorithm: {{name: dp-sgd, batch_size: 16, epochs: 1}}
schedule: {{name: constant, eta: 0.5}}
privacy: {{eps: 1, delta: 1.0e-5}}
run: {{replicates: 2, seed: 1}}
"""
PLAIN = {"h3", "h4", "figure", "figcaption", "div", "details", "summary", "button", "pre", "code"}
VOID = {"meta", "link", "input", "br", "col", "img"}


class Read(HTMLParser):
    """A page as a browser reads it: elements that close in order, their attributes, and the text of scripts."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.source, self.open, self.elements, self.scripts, self.words = text, [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        assert len(dict(attributes)) == len(attributes), (name, attributes)
        if name == "script":
            self.scripts.append((dict(attributes), ""))
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.elements.append((name, dict(attributes)))

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, words):
        if self.open and self.open[-1] == "script":
            attributes, before = self.scripts[-1]
            self.scripts[-1] = attributes, before + words
        elif self.open and self.open[-1] != "style":
            self.words.append(words)

    def all(self, name):
        return [attributes for found, attributes in self.elements if found == name]

    @property
    def text(self):
        return " ".join(self.words)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """An own experiment, and one on records whose path is a script."""
    home = tmp_path_factory.mktemp("report")
    (home / "own.yaml").write_text(OWN)
    rows = "\n".join(f"{20 + 7 * k % 60},{('low', 'high')[k % 3 == 0]}" for k in range(200))
    paths = [home / f"a{EVIL.rpartition('/')[0]}" / "script>.csv", home / "plain.csv"]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"age,income\n{rows}\n")
    one, two = (json.dumps(str(path.relative_to(home))) for path in paths)
    (home / "records.yaml").write_text(RECORDS.format(one=one, two=two))
    call("run", "own.yaml", "records.yaml", "-q", cwd=home)
    return home


@pytest.fixture(scope="module")
def page(results):
    """The page of both, read."""
    assert call("report", cwd=results).stdout == "results/report.html\n"
    return Read((results / "results" / "report.html").read_text())


def written(results, *arguments):
    """The text of a page of these results."""
    out = results / "other.html"
    call("report", *arguments, "--out", out, cwd=results)
    return out.read_text()


# --- what the file is ------------------------------------------------------------------------------------------------


def test_the_page_asks_nobody_for_anything(page):
    """No element loads an address, and the policy forbids what might be overlooked here."""
    for name, attributes in page.elements:
        for key in ("src", "href", "xlink:href", "data", "action", "poster", "srcset", "background", "ping"):
            value = attributes.get(key) or ""
            assert not value or value.startswith(("#", "data:")), (name, key, value)
        assert "url(" not in (attributes.get("style") or "").replace("url(#", "")
        assert not any(key.startswith("on") for key in attributes), (name, attributes)
    (policy,) = [one["content"] for one in page.all("meta") if one.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe-inline" not in policy.partition("script-src")[2]


def test_only_the_scripts_of_dpexp_run_and_the_policy_names_them(page):
    running = [words for attributes, words in page.scripts if attributes.get("type") != "application/json"]
    assert running == [static("uplot/uPlot.iife.min.js"), static("page.js")]
    for script in running:
        assert f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in str(page.elements)


def test_ids_are_unique_and_every_reference_is_there(page):
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for name, attributes in page.elements:
        for key in ("href", "for", "aria-labelledby"):
            value = attributes.get(key) or ""
            if key != "href" or value.startswith("#"):
                assert not value or value.removeprefix("#") in ids, (name, value)
        for value in attributes.values():
            assert all(found in ids for found in re.findall(r"url\(#([^)]+)\)", value or "")), value


@pytest.mark.slow
def test_the_same_results_give_the_same_bytes(results, page):
    assert written(results) == page.source


def test_an_own_experiment_makes_a_small_page(results):
    assert call("report", "own", cwd=results).stdout == "results/own/report.html\n"
    assert (results / "results/own/report.html").stat().st_size < 400_000


def test_the_library_is_the_one_that_its_note_names():
    folder = ROOT / "dpexp" / "reporting" / "page" / "static" / "uplot"
    note = (folder / "SOURCE.md").read_text()
    for name in ("uPlot.iife.min.js", "uPlot.min.css"):
        assert f"`{name}` {hashlib.sha256((folder / name).read_bytes()).hexdigest()}" in note
    assert "MIT License" in (folder / "LICENSE").read_text()
    version = re.search(r"version: ([\d.]+)", note)[1]
    assert f"(v{version})" in (folder / "uPlot.iife.min.js").read_text()[:80]


def test_static_files_are_part_of_the_package():
    import tomllib

    globs = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["dpexp"]
    found = {path for pattern in globs for path in (ROOT / "dpexp").glob(pattern)}
    static = ROOT / "dpexp" / "reporting" / "page" / "static"
    assert {path for path in static.rglob("*") if path.is_file()} <= found


# --- words of the results --------------------------------------------------------------------------------------------


def test_what_results_say_is_text(page):
    """The comment of a config, its text, and a path with a script in it, which also stands among the curves."""
    assert "alert(1)" in page.text
    assert not page.all("b")
    assert "<b>bold</b>" in page.text
    documents = [json.loads(words) for attributes, words in page.scripts if attributes.get("type")]
    assert "alert(1)" in str(documents)
    assert all("alert(1)" not in words for attributes, words in page.scripts if not attributes.get("type"))


def filled(template, **values):
    """A template of a test, filled in as those of the page are."""
    return templates("dpexp.reporting.page", True).from_string(template).render(values)


def test_a_document_cannot_leave_its_element():
    held = {EVIL: [EVIL, "<!--", "\u2028", float("inf")]}
    (script,) = Read(filled("<script type=x>{{ held|tojson }}</script>", held=held)).scripts
    assert json.loads(script[1])[EVIL] == [*held[EVIL][:3], None]
    assert "<" not in script[1]


def test_markup_is_the_only_way_for_markup():
    assert filled("<p>{{ a }}</p>", a="<b>") == "<p>&lt;b&gt;</p>"
    ((_, attributes), (name, _)) = Read(
        filled('<p title="{{ a }}">{{ b }}</p>', a="\">'", b=Markup("<b></b>"))
    ).elements
    assert (attributes, name) == ({"title": "\">'"}, "b")
    assert filled("<p>{{ a }}{{ b }}</p>", a="\x1b[31m", b=None) == r"<p>\x1b[31m</p>"


def test_what_a_part_holds_is_no_template_and_what_has_no_value_is_an_error():
    assert filled("{{ a }}-{{ b }}", a="{{ b }}", b="1") == "{{ b }}-1"
    with pytest.raises(UndefinedError, match="'b' is undefined"):
        filled("{{ b }}")


def svg(inside):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9pt" '
            f'viewBox="0 0 9 9">{inside}</svg>')  # fmt: skip


def test_a_drawing_that_somebody_left_in_the_folder_is_an_image_of_which_no_script_runs():
    """Nothing of it is an element of the page: a browser neither runs nor loads anything for an image."""
    for inside in ("<script>alert(1)</script>", '<g onclick="alert(1)"/>', '<image xlink:href="http://alert(1)"/>'):
        one = Shown(Wanted(Figure("mine", "", "", "", (), None), ""), svg(inside), EVIL)
        page = part("figures", groups={"": [one]}, runs_of=lambda shown: [])
        ((name, attributes),) = [at for at in Read(page).elements if at[0] not in PLAIN]
        assert name == "img"
        assert attributes.keys() == {"src", "alt"}
        assert attributes["alt"] == f"Figure mine: {EVIL}"
        assert attributes["src"].startswith("data:image/svg+xml,")


def test_a_drawing_is_rounded_where_nobody_sees_it_and_nowhere_else():
    inside = '<path id="m1.234" d="M 0.123456 -0.001 \nL 1e-7 2.50" transform="scale(0.015625)"/>'
    source = Shown(None, svg(inside), "").source.partition(",")[2]
    told = '<path id="m1.234" d="M 0.12 0 L 1e-7 2.5" transform="scale(0.015625)"/>'
    assert unquote(source) == svg(told)


def contrast(one, other):
    """The contrast ratio of two colours, from 1 to 21 (WCAG 2.2)."""
    parts = np.array([[int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)] for colour in (one, other)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    dark, light = sorted(linear @ [0.2126, 0.7152, 0.0722])
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colour", [*COLOURS, *BUDGET_COLOURS.values(), *SPARE_COLOURS])
def test_a_line_is_seen_on_a_dark_page(colour):
    paper = "#15181d"
    assert f"--paper: light-dark(#ffffff, {paper})" in static("page.css")
    assert contrast(on_dark(colour), paper) >= 4  # WCAG 2.2 asks for 3 (1.4.11)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # the known example of what just fails 4.5


# --- numbers ---------------------------------------------------------------------------------------------------------


def unpacked(text):
    raw = base64.b64decode(text)
    return [struct.unpack(">f", raw[k : k + 3] + b"\0")[0] for k in range(0, len(raw), 3)]


def test_packed_numbers_keep_four_digits_and_what_is_no_number():
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.lognormal(0, 20, 500), -rng.lognormal(0, 5, 100), [0.0]])
    back = np.array(unpacked(packed(values)))
    assert np.abs(back[:-1] / values[:-1] - 1).max() < 2**-16
    assert back[-1] == 0
    assert unpacked(packed(np.array([np.inf, -np.inf]))) == [np.inf, -np.inf]
    assert np.isnan(unpacked(packed(np.array([np.nan])))[0])


def test_curves_are_the_stored_summary(results, page):
    summary = load_summary(results / "results", "own")
    documents = [
        json.loads(words) for attributes, words in page.scripts if attributes.get("id", "").startswith("curves-")
    ]
    own = next(one for one in documents if one["name"] == "own")
    count = 0
    for metric, series in own["series"].items():
        for one in series:
            means = unpacked(one["v"])[::3]
            steps = own["steps"][one["s"]]
            assert len(means) == len(steps)
            mu = own["factors"][1]["levels"][own["cells"][one["c"]][1]]
            alpha = own["factors"][0]["levels"][own["cells"][one["c"]][0]]
            wanted = summary[(summary.metric == metric) & (summary.estimator == own["estimators"][one["e"]]["name"])
                             & (summary.budget == mu) & (summary.alpha.round(6) == round(eval(alpha), 6))]  # fmt: skip
            assert np.allclose(means, wanted.sort_values("step")["mean"], rtol=2**-15)
            count += 1
    assert count == 5 * 2 * 6


def test_fits_that_lie_in_the_folder_are_on_the_page(tmp_path):
    """A deployment with its guarantee, a rehearsal called one, a file that is no fit; a name cannot be a script."""
    rng, n = np.random.default_rng(1), 3000
    frame = pd.DataFrame({f"a{EVIL}": rng.standard_normal(n), "who": np.arange(n) // 2})
    frame["y"] = 2 * frame.iloc[:, 0] + rng.standard_normal(n)
    given = {"target": "y", "mu": 0.7, "central": True, "person": "who"}
    done = dpexp.fit(frame, **given, deployment=True, out=tmp_path / "results" / "wages")
    dpexp.fit(frame, **given, out=tmp_path / "results" / "tried")
    (tmp_path / "results" / "bad").mkdir()
    (tmp_path / "results" / "bad" / "fit.json").write_text('{"estimates": []}')
    call("report", cwd=tmp_path)
    first = (tmp_path / "results" / "report.html").read_text()
    assert EVIL not in first
    read = Read(first)
    printed = next(line for line in str(done).splitlines() if line.startswith("(intercept)"))
    numbers = re.findall(r"-?\d+\.\d+", printed)
    assert len(numbers) >= 4
    assert all(number in read.text for number in numbers)
    assert "0.7-GDP for every who: eps = " in read.text
    assert read.text.count("A deployment; noise: operating system, not stored.") == 1
    assert read.text.count("A rehearsal: whoever knows the seed") == 1
    assert "bad/fit.json cannot be read as a fit" in read.text
    assert "receipt" not in read.text
    drawn = [base64.b64decode(image["src"].partition(",")[2]) for image in read.all("img")]
    assert drawn == [(tmp_path / "results" / name / "fit.png").read_bytes() for name in ("tried", "wages")]
    call("report", cwd=tmp_path)
    assert (tmp_path / "results" / "report.html").read_text() == first
    shutil.rmtree(tmp_path / "results")
    (tmp_path / "results").mkdir()
    assert call("report", cwd=tmp_path, code=3).stdout == ""


# --- what is missing, stale or not known -----------------------------------------------------------------------------


@pytest.fixture
def copy(results, tmp_path):
    shutil.copytree(results, tmp_path / "copy")
    return tmp_path / "copy"


def state_of(text, name):
    row = re.search(rf'<tr><td[^>]*><a href="#experiment-{name}".*?</tr>', text, re.S)[0]
    return re.search(r'data-state="([^"]+)"', row)[1]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "other", "state"), [("own", "records", "unconfirmed"), ("records", "own", "stale")])
def test_results_of_other_code_are_called_so_and_nothing_of_them_is_shown(copy, name, other, state):
    """On a user's own records nothing is computed to confirm them."""
    assert state_of(written(copy), name) == "current"
    of_other_code(copy / "results" / name)
    text = written(copy)
    read = Read(text)
    assert state_of(text, name) == state
    assert state_of(text, other) == "current"
    assert f"{name} is {state}" in read.text
    assert f"dpexp run {name}.yaml" in read.text
    names = [json.loads(words) for attributes, words in read.scripts if attributes.get("id") == "curves"]
    assert names == [[other]]
    assert f"privacy-{name}" not in text
    alone = Read(written(copy, f"results/{name}"))
    assert f"{name} is {state}" in alone.text
    assert not alone.all("img")


def test_damaged_and_foreign_folders_are_named(copy):
    (copy / "results" / "own" / "summary.parquet").write_bytes(b"")
    shutil.copytree(copy / "results" / "records", copy / "results" / "<img src=x onerror=alert(1)>")
    text = written(copy)
    assert state_of(text, "own") == "not complete"
    assert "holds the experiment 'records'" in Read(text).text
    assert all(one["src"].startswith("data:") for one in Read(text).all("img"))


@pytest.mark.slow
def test_results_whose_data_are_elsewhere_are_shown_and_said_to_be_not_checked(copy, tmp_path):
    """A reader opens no data."""
    (copy / "plain.csv").unlink()
    out = tmp_path / "page.html"
    call("report", copy / "results", "--out", out, cwd=tmp_path)
    text = out.read_text()
    assert state_of(text, "own") == "current"
    assert state_of(text, "records") == "current"
    assert "plain.csv, which dpexp run compares" in Read(text).text


def test_no_results_have_a_command_and_no_traceback(tmp_path):
    for words in ([], ["nowhere"], [str(tmp_path)]):
        error = call("report", *words, cwd=tmp_path, code=3).stderr
        assert "dpexp run" in error
        assert error.count("\n") <= 3
    assert "is a folder" in call("report", ROOT / "results" / "sweep_d", "--out", tmp_path, code=2).stderr


@pytest.mark.slow
def test_provenance_that_is_not_there_is_not_made_up(copy):
    assert "core time" in written(copy, "results/own")
    for path in (copy / "results").glob("*/provenance.json"):
        path.unlink()
    text = Read(written(copy)).text
    assert "core time" not in text
    assert "not known here" not in text, "not once for every experiment"
    assert "Not known here" in text
    assert "Compute:" not in text


def test_a_figure_of_theory_alone_is_taken_where_it_was_drawn_and_never_drawn(copy, monkeypatch):
    monkeypatch.setenv("DPEXP_CACHE", str(copy / "cache"))
    matplotlib.use("agg")
    figure = figures()["noisy_sgd_figure1"]
    wanted = [Wanted(figure, "dpexp plot noisy_sgd_figure1")]
    home = copy / "results"
    (missing,) = show(wanted, home)
    assert not missing.svg
    assert "dpexp plot noisy_sgd_figure1 --format svg" in missing.hint
    files = {
        f"{figure.name}.{ending}": text
        for ending, text in (("svg", svg("").encode()), ("csv", b""), ("caption.txt", b"Said.\n"))
    }
    keep(key_of(stamp(figure, home)), files)
    (taken,) = show(wanted, home)
    assert (taken.svg, taken.caption) == (svg(""), "Said.")


def test_processes_are_started_for_figures_that_were_not_kept_alone(tmp_path, monkeypatch):
    work = []

    def at_work(function, given, *told):
        work.extend(one.figure.name for one, _ in given)
        return [function(*one) for one in given]

    monkeypatch.setattr(shown_figures, "in_processes", at_work)
    monkeypatch.setattr(
        shown_figures, "as_svg", lambda one, _, anew=True: (one.name, "Said.") if anew or one.name in "ac" else None
    )
    wanted = [Wanted(Figure(name, "", "", "", ("own",), None), "") for name in "abcd"]
    assert [one.svg for one in show(wanted, tmp_path)] == [*"abcd"]
    assert work == ["b", "d"]


# --- claims ----------------------------------------------------------------------------------------------------------


CLAIM = {
    "id": "ldp-sgd/theorem-3", "paper": "ldp-sgd", "place": "Theorem 3", "quote": f"for all {EVIL}", "statement": "Falls.",
    "verdict": "reproduced", "expected_verdict": "reproduced", "why": "", "predicted": "-1/2", "measured": "-0.49",
    "configs": ["configs/linear_d5.yaml"], "hypotheses": ["a", "b"], "noticed": None,
}  # fmt: skip


def claims():
    other = CLAIM | {"id": "momentum/x", "paper": "momentum", "verdict": "false", "statement": "Rises quickly."}
    return [CLAIM, other]


def claims_section(some):
    return part("claims", ledger=Ledger(some), verdict_of=verdict_of, facts_of=facts_of)


def test_every_claim_has_a_card_with_what_filters_ask_for():
    read = Read(claims_section(claims()))
    cards = [one for one in read.all("details") if "claim" in one["class"]]
    assert [(one["data-paper"], one["data-verdict"]) for one in cards] == [
        ("ldp-sgd", "reproduced"),
        ("momentum", "false"),
    ]
    assert "Expected was: reproduced" in read.text
    assert EVIL in read.text
    assert "<span" not in read.text  # no markup is shown as text
    values = [one["value"] for one in read.all("option")]
    assert values == ["", "ldp-sgd", "momentum", "", "reproduced", "false"]
    assert set(VERDICTS) > set(values[4:])


def test_our_statements_are_counted_apart_from_the_papers():
    text = " ".join(Read(claims_section([*claims(), CLAIM | {"source": "ours"}])).text.split())
    assert "ldp-sgd 1 0 1 momentum 0 1 1 ldp-sgd, our statements 1 0 1" in text


def test_an_own_experiment_asks_for_no_claim(results, monkeypatch):
    reader = "dpexp.reporting.ledger.verdicts.read_ledger"
    monkeypatch.setattr(reader, lambda *_: pytest.fail("no claim speaks of these experiments"))
    assert command._ledger(results / "results", ["own"], False) is None


def test_a_page_has_a_title_and_a_text_of_ones_own_and_both_are_text(results):
    (results / "words.txt").write_text(f"First {EVIL} line.\n\nSecond paragraph.")
    text = written(results, "results/own", "--title", f"Mine {EVIL}", "--text", "words.txt")
    assert EVIL not in text
    words = "".join(Read(text).words)
    assert f"Mine {EVIL}" in words
    assert f"First {EVIL} line." in words
    for name, content in (("none.txt", None), ("latin.txt", b"\xe9t\xe9"), ("words", None)):
        if content:
            (results / name).write_bytes(content)
        refused = call("report", "--text", name, cwd=results, code=2)
        assert f"--text {name}" in refused.stderr
        assert "Traceback" not in refused.stderr


def test_final_values_slopes_and_comparisons_are_on_the_page(results):
    text = written(results, "results/own")
    rows = json.loads(call("diff", "results/own", "--by", "alpha", "--json", cwd=results).stdout)["rows"]
    part = text.partition('<section id="final"')[2].partition("</section>")[0]
    assert "Compared by alpha" in part
    assert "Compared by mu" in part
    assert part.count(">certain<") >= sum(row["certain"] for row in rows)
    for row in rows:
        assert f">{row['difference']:+.3g}<" in part
    table = json.loads(call("table", "own", "--json", cwd=results).stdout)
    assert table["note"].split(". ")[0] in "".join(Read(part).words)


def test_a_budget_has_one_colour_in_the_explorer_and_in_its_figure(results):
    text = written(results, "results/own")
    (found,) = [json.loads(words) for at, words in Read(text).scripts if at.get("id") == "curves-0"]
    factor = found["factors"][found["hue"]["factor"]]
    assert factor["name"] == "mu"
    by_level = dict(zip(factor["levels"], found["hue"]["colours"], strict=True))
    for label in ("1", "non-private"):
        colour = BUDGET_COLOURS[label]
        assert by_level[label] == f"light-dark({colour},{on_dark(colour)})"
    assert len(set(by_level.values())) == 3


def test_every_cell_of_a_table_names_its_column(page):
    """So that a narrow screen can show a row as lines of name and value."""
    cells = [attributes for name, attributes in page.elements if name == "td"]
    assert cells
    assert all(attributes.get("data-name") for attributes in cells)


# --- in a browser ----------------------------------------------------------------------------------------------------


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LACKING = [
    *([] if CHROMIUM else ["there is no Chromium here"]),
    *([] if find_spec("playwright") else ["`pip install playwright` drives it"]),
]
browsed = pytest.mark.skipif(bool(LACKING), reason=", and ".join(LACKING))


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def both(results, tmp_path_factory):
    """The page of both experiments, with two claims."""
    saved = command._ledger
    command._ledger = lambda *_: Ledger(claims())
    try:
        with chdir(results):
            text = page_of.html(command._page(Path("results"), ["own", "records"], False))
    finally:
        command._ledger = saved
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(text)
    return path


@pytest.fixture
def opened(browser, both):
    """A function that opens the page: at a width, in a scheme; it fails on requests and on words of the console."""
    contexts, wrong = [], []

    def at(width=1280, scheme="light", **options):
        contexts.append(browser.new_context(viewport={"width": width, "height": 850}, color_scheme=scheme, **options))
        tab = contexts[-1].new_page()
        tab.on("request", lambda request: wrong.append(request.url) if request.url != both.as_uri() else None)
        tab.on("console", lambda message: wrong.append(message.text))
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("dialog", lambda dialog: wrong.append(dialog.message))
        tab.goto(both.as_uri())
        tab.wait_for_selector(".uplot canvas")
        return tab

    yield at
    for context in contexts:
        context.close()
    assert [one for one in wrong if not one.startswith("data:")] == []


@browsed
def test_what_is_chosen_stands_in_the_address_and_a_link_opens_it_again(opened, both):
    state = """[...document.querySelectorAll('#explorer select, #claims-filters select, #claims-search')].map((c) => c.value)
        .concat([...document.querySelectorAll('#explorer input[type=checkbox]')].map((box) => box.checked)).join()"""
    tab = opened()
    first = tab.evaluate(state)
    assert "#" not in tab.url
    tab.select_option("#explore-metric", index=1)
    tab.click("#explore-band")
    tab.click('#explore-settings input[data-factor="0"]')
    tab.fill("#claims-search", "theorem & 1")
    chosen, other = tab.evaluate(state), opened()
    assert chosen != first
    other.goto(tab.url)
    assert other.evaluate(state) == chosen
    again = opened()
    again.evaluate(f"location.hash = {json.dumps('#' + tab.url.partition('#')[2])}")
    again.wait_for_selector("#explore-band:not(:checked)")
    assert again.evaluate(state) == chosen
    again.evaluate("location.hash = '#view:experiment=none&x=none&shown=9.9'")  # of another page: nothing breaks


@browsed
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_window(opened, width, scheme):
    tab = opened(width, scheme)
    tab.evaluate("document.querySelectorAll('details').forEach((card) => { card.open = true; })")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


@browsed
def test_filters_of_claims(opened):
    tab = opened()

    def shown():
        return tab.locator("#claims-list > .claim:visible").count(), tab.inner_text("#claims-count")

    assert shown() == (2, "2 claims")
    tab.select_option("#claims-paper", "momentum")
    assert shown() == (1, "1 of 2 claims")
    tab.select_option("#claims-verdict", "reproduced")
    assert shown() == (0, "0 of 2 claims")
    assert tab.is_visible("#claims-none")
    tab.click("#claims-filters button")
    tab.wait_for_selector("#claims-count:text-is('2 claims')")
    tab.fill("#claims-search", "RISES quick")
    assert shown() == (1, "1 of 2 claims")


@browsed
def test_the_pointer_shows_values(opened, results):
    tab = opened()
    tab.select_option("#explore-experiment", label="own")
    tab.locator("#chart").scroll_into_view_if_needed()
    box = tab.locator(".u-over").bounding_box()
    tab.mouse.move(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2)
    tab.wait_for_selector("#tip:visible")
    assert tab.inner_text("#explore-where") == "step 700"
    row = tab.locator("#explore-values tr").first.locator("td").all_inner_texts()
    summary = load_summary(results / "results", "own")
    chosen = summary[(summary.step == 700) & (summary.metric == "param_distance_sq") & (summary.estimator == "sgd")]
    mean = chosen[(chosen.budget == "1") & (chosen.alpha < 0.4)]["mean"].item()
    assert row[1:3] == ["alpha=1/3 mu=1", "sgd (iterate)"]
    assert float(row[3]) == pytest.approx(mean, rel=2e-3)
    assert "step 700" in tab.inner_text("#tip")


@browsed
def test_the_explorer_by_keyboard_and_its_switches(opened):
    tab = opened()
    tab.select_option("#explore-experiment", label="own")
    rows = tab.locator("#explore-values tr")
    assert rows.count() == 12
    tab.locator("#explore-settings input").first.uncheck()
    assert rows.count() == 6
    tab.focus("#explore-at")
    tab.keyboard.press("Home")
    assert tab.inner_text("#explore-where") == "step 1"
    for switch in ("#explore-log-x", "#explore-log-y", "#explore-band"):
        tab.locator(switch).click()
    for value in tab.locator("#explore-metric option").all():
        tab.select_option("#explore-metric", value.get_attribute("value"))
        assert tab.locator(".uplot canvas").count() == 1
    tab.select_option("#explore-axis", "dots")
    assert rows.count() == 6
    tab.select_option("#explore-experiment", label="records")
    assert EVIL.partition("/")[0] in tab.inner_text("#explore-settings")


@browsed
@pytest.mark.skipif("AXE_CORE" not in os.environ, reason="AXE_CORE names no file of axe-core (axe.min.js)")
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_finding_of_accessibility(opened, width, scheme):
    tab = opened(width, scheme, bypass_csp=True)
    tab.evaluate("document.querySelectorAll('details').forEach((card) => { card.open = true; })")
    tab.add_script_tag(path=os.environ["AXE_CORE"])
    found = tab.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    assert [(one["id"], one["impact"], one["nodes"][0]["html"]) for one in found] == []


def test_a_figure_that_cannot_be_drawn_costs_a_line_whatever_is_wrong(tmp_path):
    def broken(results):
        raise NotImplementedError("the curvature is not known")

    shown = draw(Wanted(Figure("mine", "Mine.", "", "", ("own",), broken), "dpexp plot mine"), tmp_path)
    assert (shown.svg, shown.why) == ("", "NotImplementedError: the curvature is not known")
