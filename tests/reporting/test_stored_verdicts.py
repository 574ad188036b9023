"""Verdicts that are stored: shown where their results are the same, marked where these changed, never lost or false."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from dpexp.commands.claims import matching
from dpexp.config import shipped
from dpexp.core.errors import UsageError
from dpexp.papers import claims, our_papers
from dpexp.reporting.ledger import verdicts
from dpexp.reporting.ledger.verdicts import WRONG, judge
from dpexp.store.evidence import Evidence
from dpexp.store.folder import read_document, read_table, write_document, write_table
from tests.conftest import ROOT, call

BY_ID = {claim.id: claim for some in claims().values() for claim in some}
THEORY = ("noisy-sgd/theorem-1-3/stops", "ldp-sgd/proposition-2")
STORED = ("ldp-sgd/figure-2/budget",)
"""claims that are judged from theory, and from results, in no time"""
NEEDED = sorted({name for one in STORED for name in BY_ID[one].experiments})


@pytest.fixture
def few(monkeypatch):
    """A ledger of three claims."""
    wanted = {*THEORY, *STORED}
    some = {name: replace(p, claims=tuple(c for c in p.claims if c.id in wanted)) for name, p in our_papers().items()}
    some = {name: paper for name, paper in some.items() if paper.claims}
    monkeypatch.setattr("dpexp.papers.our_papers", lambda: some)
    return [claim for paper in some.values() for claim in paper.claims]


@pytest.fixture
def results(few, toys, tmp_path):
    """Results of toy size with the verdicts of all three claims, which may be changed."""
    place = tmp_path / "results"
    for name in NEEDED:
        shutil.copytree(toys.results(NEEDED) / name, place / name)
    call("claims", "--judge", "-q", "--results", place, code=surprising(place))
    return place


def surprising(place):
    """The exit code that toy results deserve: 1, since a verdict on them may not be the expected one, or 0."""
    found = judge([BY_ID[name] for name in (*THEORY, *STORED)], place)
    return int(any(one.is_surprising for one in found.values()))


def ledger(place, *arguments, code=None):
    """What the command says of every claim, by id."""
    done = call("claims", "--json", "--results", place, *arguments, code=surprising(place) if code is None else code)
    return {one["id"]: one for one in json.loads(done.stdout)}


def states(place, *arguments, code=3):
    return {name: (one["state"], one["reason"]) for name, one in ledger(place, *arguments, code=code).items()}


@pytest.mark.slow
def test_a_named_claim_is_judged_now_and_the_ledger_is_read(results, few):
    stored = ledger(results)
    assert list(stored) == [claim.id for claim in few]
    assert {one["state"] for one in stored.values()} == {"stored"}
    fresh = judge(few, results)
    for name, one in stored.items():
        assert {key: one[key] for key in fresh[name].outcome} == fresh[name].outcome
    document = read_document(results / verdicts.FILE)
    document["verdicts"][STORED[0]]["outcome"]["verdict"] = (
        "not testable"  # by hand: what the ledger says is not believed
    )
    write_document(results / verdicts.FILE, document)
    named = ledger(results, STORED[0], code=int(fresh[STORED[0]].is_surprising))
    assert named[STORED[0]] == stored[STORED[0]] | {"state": "judged"}
    told = call("claims", "--judge", "-q", "--results", results, code=surprising(results))
    assert f"other values than stored: {STORED[0]}: " in told.stderr


@pytest.mark.slow
def test_a_clone_without_trajectories_is_answered(results):
    """A clone has summaries and verdicts, and no trajectories: the stored verdict is shown, and nothing is judged."""
    before = ledger(results)
    for name in NEEDED:
        shutil.rmtree(results / name / "trajectories")
    code = int(any(e["verdict"] != e["expected_verdict"] for e in before.values()))
    assert ledger(results, code=code) == before
    own = {STORED[0]: before[STORED[0]]}
    assert ledger(results, STORED[0], code=int(own[STORED[0]]["verdict"] != own[STORED[0]]["expected_verdict"])) == own
    assert "run: dpexp run" in call("claims", "--judge", "--results", results, code=3).stderr


@pytest.mark.slow
def test_one_bit_of_a_summary(results):
    """A byte of the summary is another one: the verdict is stale, also where the manifest is made to fit it."""
    folder = results / NEEDED[0]
    data = (folder / "summary.parquet").read_bytes()
    table = read_table(folder / "summary.parquet").table()
    means = table["mean"].to_numpy().copy()
    means[0] = np.nextafter(means[0], 2)
    changed = table.set_column(table.column_names.index("mean"), "mean", pa.array(means))
    sha256 = write_table(folder / "summary.parquet", changed.replace_schema_metadata(None), {})
    assert (folder / "summary.parquet").read_bytes() != data
    assert states(results)[STORED[0]][0] == "stale"
    assert states(results)[THEORY[0]] == ("stored", "")
    manifest = read_document(folder / "manifest.json")
    (key,) = [key for key, value in manifest.items() if isinstance(value, dict) and "summary.parquet" in value]
    manifest[key]["summary.parquet"] = sha256  # somebody who knows how writes a manifest that fits
    write_document(folder / "manifest.json", manifest)
    assert states(results)[STORED[0]] == ("stale", f"result changed: {folder}")


@pytest.mark.slow
@pytest.mark.parametrize("spoil", ["cut", "letter", "empty", "list", "conflict", "swapped"])
def test_a_damaged_file_is_named_and_written_anew(few, tmp_path, spoil):
    call("claims", *THEORY, "--judge", "-q", "--results", tmp_path)
    path = tmp_path / verdicts.FILE
    text = path.read_text()
    conflict, letter = f"<<<<<<< ours\n{text}=======\n", text.replace("misprint", "reprinted", 1)
    spoiled = {"cut": text[: len(text) // 2], "letter": letter, "empty": "", "list": "[]", "conflict": conflict}
    if spoil == "swapped":  # by somebody who knows of the checksum
        document = read_document(path)
        verdicts_of, (one, other) = document["verdicts"], THEORY
        verdicts_of[one], verdicts_of[other] = verdicts_of[other], verdicts_of[one]
        write_document(path, document)
    else:
        path.write_text(spoiled[spoil])
    refused = call("claims", "--format", "table", "--results", tmp_path, code=3).stderr
    assert "claims.json is damaged" in refused
    call("claims", THEORY[0], "--judge", "--results", tmp_path)
    assert states(tmp_path)[THEORY[0]] == ("stored", "")
    assert states(tmp_path)[THEORY[1]] == ("missing", "not judged yet")


def test_rows_of_claims_that_are_gone_and_of_plug_ins_that_are_not_loaded(few, tmp_path):
    call("claims", *THEORY, "--judge", "-q", "--results", tmp_path)
    rows = verdicts.read_ledger(tmp_path)
    theirs = replace(rows[THEORY[0]], claim={**rows[THEORY[0]].claim, "id": "p/q", "paper": "p"})
    known = [replace(claim, why="another reason") for claim in few if claim.id != THEORY[0]]
    verdicts.write_rows(tmp_path, {"p/q": theirs}, known, set(our_papers()))
    after = verdicts.read_ledger(tmp_path)
    assert list(after) == [THEORY[1], "p/q"]
    assert after[THEORY[1]].claim["why"] == "another reason"  # what a claim says now is stored with its verdict


def test_a_check_can_read_what_its_claim_declares_and_nothing_else(tmp_path):
    evidence = Evidence(tmp_path).only(["linear_d5"])
    with pytest.raises(UsageError, match="reads 'linear_d10', which its claim does not declare"):
        evidence.runs("linear_d10")


def test_claims_that_read_experiments_of_research_say_in_a_wheel_that_they_need_the_repository(monkeypatch, tmp_path):
    ours = [claim for paper in our_papers().values() for claim in paper.claims]
    read = {name for claim in ours for name in claim.experiments}
    in_wheel = {name: path for name, path in shipped.shipped().items() if path.parent == shipped.FOLDER}
    assert read - in_wheel.keys() == {*shipped.RESEARCH}
    assert not any(row.reason.startswith("needs") for row in verdicts.stored_rows(tmp_path, {}, ours).values())
    monkeypatch.setattr(shipped, "shipped", lambda: in_wheel)
    rows = verdicts.stored_rows(tmp_path, {}, ours)
    assert [name for name, row in rows.items() if row.reason.startswith("needs")] == [
        claim.id for claim in ours if {*claim.experiments} & {*shipped.RESEARCH}
    ]


IDS = ["p/theorem-1", "p/theorem-1/tight", "p/theorem-10", "q/theorem-1", "q/figure"]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ([], IDS), (["p/theorem-1"], IDS[:2]), (["p/theorem-10"], [IDS[2]]), (["p/theorem"], IDS[:3]), (["theorem-1"], [IDS[0], IDS[1], IDS[3]]),
        (["p"], IDS[:3]), (["*/theorem-1*"], IDS[:4]), (["fig*", "p/theorem-10"], [IDS[2], IDS[4]]), (["q/"], IDS[3:]),
    ],
)  # fmt: skip
def test_which_claims_are_asked_for(asked, found):
    assert matching(IDS, asked) == found


def test_the_page_of_differences_has_every_statement_that_did_not_come_out_as_printed():
    text = call("claims", "--format", "differences", "--results", ROOT / "results", code=None).stdout
    last = verdicts.read_ledger(ROOT / "results")
    for paper in our_papers().values():
        wrong = {c.id: c.quote for c in paper.claims if c.source == "paper" and last[c.id].outcome["verdict"] in WRONG}
        wrong |= {one.id: one.quote for one in paper.differences}
        own = text.partition(f"\n## {paper.id}\n")[2].partition("\n## ")[0]
        assert sorted(re.findall("^### (.*)$", own, re.MULTILINE)) == sorted(wrong)
        assert all(f"> {quote}" in own for quote in wrong.values())


def test_two_judgings_write_the_same_bytes(few, tmp_path):
    """Nothing that a clock, a machine or a cache decides is on a file that is compared."""
    texts = []
    for folder in (tmp_path / "one", tmp_path / "other"):
        call("claims", *THEORY, "--judge", "-q", "--results", folder)
        call("claims", "--results", folder, "--out", folder, code=3)
        files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
        texts.append({path.relative_to(folder).as_posix(): path.read_bytes() for path in files})
    assert texts[0] == texts[1]
    assert {"claims.json", "CLAIMS.md"} <= texts[0].keys()
