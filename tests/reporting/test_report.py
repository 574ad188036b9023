"""The page of `dpexp report`: one file that loads nothing, safe whatever results hold, honest about what is stale."""

import json
import re
import shutil
from html.parser import HTMLParser

import numpy as np
import pytest

from tests.conftest import ROOT, call, of_other_code

EVIL = "</script><script>alert(1)</script>"
OWN = f"""# Mine & "yours": {EVIL} <b>bold</b>
experiment: own
problem: {{name: huber-linear, d: 5}}
schedule: {{eta: 0.2, alpha: 1/2}}
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
VOID = {"meta", "link", "input", "br", "col", "img"}


class Read(HTMLParser):
    """A page as a browser reads it: elements that close in order, their attributes, and its words."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.source, self.open, self.elements, self.words = text, [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        assert len(dict(attributes)) == len(attributes), (name, attributes)
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, words):
        if self.open and self.open[-1] not in ("style", "title"):
            self.words.append(words)

    def all(self, name):
        return [attributes for found, attributes in self.elements if found == name]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


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


@pytest.fixture(scope="module")
def own(results):
    return written(results, "results/own")


def written(home, *arguments):
    """The text of a page of these results."""
    out = home / "other.html"
    call("report", *arguments, "--out", out, cwd=home)
    return out.read_text()


def test_the_page_loads_nothing_and_runs_nothing(page):
    assert not page.all("script")
    for name, attributes in page.elements:
        for key in ("src", "href", "data", "action", "poster", "srcset", "background", "ping"):
            value = attributes.get(key) or ""
            assert not value or value.startswith(("#", "data:")), (name, key, value)
        assert not any(key.startswith("on") for key in attributes), (name, attributes)
    (policy,) = [one["content"] for one in page.all("meta") if one.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "script-src" not in policy


def test_what_results_say_is_text(page):
    assert "alert(1)" in page.text
    assert "<b>bold</b>" in page.text
    assert not page.all("b")


def test_the_page_of_an_experiment_is_small_and_the_same_bytes_again(results, own):
    assert len(own) < 300_000
    assert written(results, "results/own") == own


def test_the_page_says_on_top_that_it_shows_private_records(own, page):
    assert page.text.index("do not publish") < page.text.index("Results of dpexp")
    assert "do not publish" not in Read(own).text


def test_own_experiments_come_first_and_no_claim_of_a_paper_that_was_not_run(results, page, tmp_path):
    shutil.copytree(results / "results", tmp_path / "results")
    shutil.copytree(ROOT / "results" / "sweep_d", tmp_path / "results" / "a_sweep")
    shutil.move(tmp_path / "results" / "a_sweep", tmp_path / "results" / "sweep_d")
    text = written(tmp_path)
    names = re.findall(r"<h2>(\S+) <span", text)
    assert names == ["own", "records", "sweep_d"]
    assert 'id="claims"' not in page.source


def test_privacy_is_a_table_with_the_numbers_of_the_statement(results, own):
    found = json.loads(call("privacy", "own.yaml", "--json", cwd=results).stdout)
    assert "dpexp privacy own.yaml<" in own  # from here, and not from the folder of the results
    eps = [value for row in found["statements"] for _, value in row["eps"] if np.isfinite(value or np.inf)]
    assert eps
    cells = re.findall(r"<td>([\d.]+)</td>", own)
    assert all(any(0 <= float(cell) / value - 1 < 1e-3 for cell in cells) for value in eps)


@pytest.fixture
def copy(results, tmp_path):
    shutil.copytree(results, tmp_path / "copy")
    return tmp_path / "copy"


def state_of(text, name):
    return re.search(rf'<h2>{name} <span class="state [a-z]+">([^<]+)</span>', text)[1]


@pytest.mark.slow
def test_results_of_other_code_are_called_so_and_nothing_of_them_is_shown(copy):
    of_other_code(copy / "results" / "own")
    text = written(copy, "results/own")
    assert state_of(text, "own") in ("stale", "unconfirmed")
    assert "dpexp run own.yaml" in Read(text).text
    assert not Read(text).all("img")
    assert not Read(text).all("table")


def test_damaged_and_foreign_folders_are_named(copy):
    (copy / "results" / "own" / "summary.parquet").write_bytes(b"")
    shutil.copytree(copy / "results" / "records", copy / "results" / "<img src=x onerror=alert(1)>")
    text = written(copy)
    assert state_of(text, "own") == "not complete"
    assert all(one["src"].startswith("data:") for one in Read(text).all("img"))
