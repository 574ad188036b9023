"""The article and the summaries of reproductions: every number of theirs is one that is stored."""

import re
from collections import Counter

import pytest

from tests.conftest import ROOT

PAPER = " ".join((ROOT / "paper/paper.md").read_text().split())


def rows(path):
    """Cells of the rows of the tables of a page, headers and rules left out."""
    found = [line.strip("| ").split("|") for line in (ROOT / path).read_text().splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in cells] for cells in found if not set("".join(cells)) <= set("- ")]


def test_counts_are_those_of_the_ledger():
    head, *every = (row for row in rows("results/CLAIMS.md"))
    papers = [row for row in every if not row[0].startswith("[shelf]")]
    shelf = int(next(row for row in every if row not in papers)[1])
    ends = papers.index(head)
    total = dict(
        zip(head[1:], (sum(map(int, column)) for column in list(zip(*papers[:ends], strict=True))[1:]), strict=True)
    )
    ours = sum(int(row[1]) for row in papers[ends + 1 :])
    said = (
        "It has {all} rows, {claims} of them statements of the papers: {reproduced} are reproduced, {holds as a bound} hold "
        "as bounds, {not at this sample size} cannot be seen at the sample size that was run, {misleading} are misleading, "
        "{misprint} are misprints, {false} are false, and {not testable} cannot be tested"
    )
    assert said.format(all=total["claims"] + ours + shelf, **total) in PAPER
    assert f"Another {shelf} are epsilons that widely read pages print." in PAPER


def test_coverage_is_that_of_the_table():
    head, *settings = rows("results/tables/coverage.md")
    verdict = head.index("verdict")
    ours = {"staged-newton", "central-newton"}
    own = [row for row in settings if row[3] in ours]
    found = Counter(row[verdict] for row in own)
    assert sum(found.values()) == found["holds"] + found["conservative"] + 1  # 1 of some 200 shares is low by chance
    said = (
        "in {} settings, and all runs count. Its intervals hold in {holds} settings and are conservative in {conservative}, "
        "where the data do not tell a coefficient; in one, 92.0% of 400 intercepts"
    )
    assert said.format(len(own), **found) in PAPER
    others = {row[3] for row in settings} - ours
    assert len(others) == 8
    assert {row[3] for row in settings if row[verdict] == "fails"} >= others


BENCH = "benchmarks/results.md"


@pytest.mark.parametrize(("source", "line", "number"), [
    (BENCH, r"d = 5, numpy, float64 +25\.1 +[\d.]+ +35\.0", "25.1 ns at d = 5"),
    (BENCH, r"d = 5, numpy, float64 +25\.1 +[\d.]+ +35\.0", "35.0 times"),
    (BENCH, r"d = 20, numpy, float64 .* 18\.2\n", "the factor is 18.2"),
    (BENCH, r"d = 5, engine alone .* 0\.78 +0\.76 ", "0.78 of the time of the engine at d = 5"),
    (BENCH, r"d = 20, engine alone .* 0\.69 +0\.68 ", "and 0.69 at d = 20"),
    (BENCH, r"d = 5, whole command .* 0\.53 +0\.49 ", "0.53 and 0.59 of the time of the whole"),
    (BENCH, r"d = 20, whole command .* 0\.59 +0\.55 ", "0.53 and 0.59 of the time of the whole"),
    (BENCH, r" 257 +1 +81 +147 +1\.81 ", "257 features take 81 microseconds"),
    ("README.md", r"pld-composition +all-iterates +2\.6188 ", "epsilon = 2.6188 at delta = 1e-5"),
    ("README.md", r"hybrid +last-iterate +0\.19545 .*best for last-iterate", "best bound is 0.19545"),
    ("README.md", r"exact-walk +last-iterate +0\.019337 .*attained", "attains 0.019337"),
    ("results/CLAIMS.md", r"alpha = 1/3: -0\.69 \[-0\.70, -0\.68\] \(slower\)", "is -0.69, with 95% interval from -0.70 to -0.68"),
])  # fmt: skip
def test_numbers_are_those_of_their_source(source, line, number):
    assert re.search(line, (ROOT / source).read_text()), f"{source} has changed: change the article"
    assert number in PAPER


def test_every_citation_has_an_entry():
    own, others = ((ROOT / "paper" / name).read_text() for name in ("paper.bib", "others.bib"))
    keys = set(re.findall(r"^@\w+\{([\w-]+),", own + others, re.MULTILINE))
    assert set(re.findall(r"@([a-z][\w-]+)", PAPER)) <= keys
    assert all((ROOT / "paper" / picture).exists() for picture in re.findall(r"\]\(([^)]+\.png)\)", PAPER))
