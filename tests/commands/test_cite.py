"""`dpexp cite`: BibTeX from the registries, and CITATION.cff beside them."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from dpexp.commands.cite import analyses, cite
from dpexp.papers import our_papers
from dpexp.privacy.mechanisms import MECHANISMS
from dpexp.reporting.citation import Citation
from dpexp.theory import THEOREMS
from tests.conftest import ROOT, call

ENTRY = re.compile(r"@(misc|software)\{[A-Za-z0-9:-]+,\n(  [a-z]+ = \{.*\},\n)+\}")


@pytest.fixture(scope="module")
def sources():
    """Of every analysis: all mechanisms state theirs, in a second."""
    return analyses()


@pytest.fixture(autouse=True)
def asked_once(sources, monkeypatch):
    monkeypatch.setattr("dpexp.commands.cite.analyses", lambda: sources)


def test_everything_that_can_be_cited_is(sources):
    names = [None, *our_papers(), *THEOREMS, *MECHANISMS, *sources]
    keys = []
    for name in names:
        document, text = cite(name)
        entries = text.split("\n\n")
        assert len(entries) == len(document)
        for entry in entries:
            assert ENTRY.fullmatch(entry), entry
            assert entry.count("{") == entry.count("}")
        keys += [one["key"] for one in document]
    asked_twice = {name for name in names if names.count(name) > 1}  # a name of several kinds answers with all of them
    assert asked_twice == {"cap-sampling", "noisy-sgd", "private-selection"}
    assert len(keys) - len(set(keys)) == sum(len(cite(name)[0]) * (names.count(name) - 1) for name in asked_twice)


def test_a_thousand_settings_of_a_mechanism_name_all_its_analyses(sources, monkeypatch):
    monkeypatch.setattr("dpexp.commands.cite.islice", lambda every, most: every)
    assert analyses() == sources


def test_a_theorem_names_its_paper_and_its_place():
    (entry,) = cite("momentum/theorem-8")[0]
    assert entry["kind"] == "theorem"
    assert entry["fields"]["author"] == "Hoang Tran and Ashok Cutkosky"
    assert entry["fields"]["note"].startswith("Theorem 8")
    assert "completed by dpexp" in cite("ldp-sgd/theorem-4/completed")[1]
    assert "{{dpexp contributors}}" in cite("hybrid")[1]
    assert "{Langevin} dynamics" in cite("dp-sgld")[1]
    assert r"Th\'eo" in cite("dp-sgld")[1]
    assert {entry["kind"] for entry in cite("noisy-sgd")[0]} == {"paper", "mechanism"}


def test_characters_of_tex_stand_for_themselves():
    assert "50\\% of \\$1 \\& more" in Citation("x", "paper", "misc", {"title": "50% of $1 & more"}).bibtex()


def test_the_command():
    assert json.loads(call("cite", "noisy-sgd", "--json").stdout)[0]["key"] == "noisy-sgd"
    assert call("cite").stdout.startswith("@software{dpexp,")
    assert "did you mean 'hybrid'" in call("cite", "hybird", code=2).stderr


def test_the_citation_file_is_that_of_the_registries():
    text = (ROOT / "CITATION.cff").read_text()
    assert text.strip() == call("cite", "--cff").stdout.strip()
    document = yaml.safe_load(text)
    assert [one["title"] for one in document["references"]] == [paper.title for paper in our_papers().values()]
    assert {"cff-version", "message", "title", "authors", "version"} <= set(document)


@pytest.mark.parametrize("paper", our_papers().values(), ids=lambda paper: paper.id)
def test_bibliographic_facts_are_complete_or_absent(paper):
    assert set(paper.bibliography) <= {"archiveprefix", "eprint", "year", "note"}
    assert ("eprint" in paper.bibliography) == ("archiveprefix" in paper.bibliography) == ("year" in paper.bibliography)
    if number := paper.bibliography.get("eprint"):
        assert re.fullmatch(r"\d{4}\.\d{5}", number)
        assert paper.bibliography["year"] == f"20{number[:2]}"  # a number of arXiv begins with year and month
