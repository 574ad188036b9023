"""A share of the campaign of mutants, and proofs that it would see what is wrong: thresholds, stages and edits are known here."""

import ast
import json
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from dpexp.engine.result import CellData
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.evidence import Evidence, Run
from dpexp.theory.ldp_sgd import noise
from tests.campaigns import mutants, mutants_of_code, mutants_of_evidence, mutants_of_theory
from tests.campaigns.altered_runs import AlteredEvidence, Stored, through
from tests.campaigns.homes_of_modules import HOMES, home
from tests.campaigns.kinds_of_corruption import FAMILIES, KINDS, scaled, tilted
from tests.campaigns.lines_of_tests import lines_of
from tests.campaigns.mutants_of_evidence import Said
from tests.campaigns.places_of_mutants import is_program, places
from tests.conftest import ROOT

STEPS = np.array([10, 100, 1000])


def run(budget="1", alpha=0.5, level=1.0):
    """A run that falls like 1 / n, of which nothing but rows and numbers is asked."""
    rng = np.random.default_rng(3)
    values = level / STEPS[None, :, None, None] * np.exp(0.1 * rng.standard_normal((2, 3, 2, 30)))
    data = CellData(STEPS, ("sgd", "asgd"), ("param_distance_sq", "loss_gap"), values)
    cell = SimpleNamespace(problem=SimpleNamespace(), algorithm=SimpleNamespace(name="ldp-sgd"))
    return Run(cell, {"alpha": alpha, "budget": budget, "mu": float(budget), "gdp_mu": float(budget)}, data)


@pytest.fixture
def stored(tmp_path):
    found = Stored(tmp_path)
    found._runs["toy"] = [run(), run("2", level=0.5)]
    return found


def claim(check, name="toy/claim"):
    def checked(evidence: Evidence) -> Outcome:
        return Outcome("reproduced" if check(evidence.runs("toy")) else "contradicted", "", "", "", {})

    return Claim(name, "", "", "upper", ("toy",), checked, "", "reproduced", "")


def below(limit):
    """A claim that the last mean loss gap of every run is below a limit times 1e-3."""
    return claim(lambda runs: all(r.values("sgd", "loss_gap")[-1].mean() < limit * 1e-3 for r in runs))


def test_the_smallest_factor_is_found(stored):
    mean = stored.runs("toy")[0].values("sgd", "loss_gap")[-1].mean() * 1e3
    family, fine = FAMILIES[0], Said("reproduced", "{}")
    assert family.words == "the loss gap"
    for limit in (1.3, 7.0):
        found = mutants_of_evidence.smallest(below(limit), stored, family, fine)
        assert limit / mean <= found <= 1.05 * limit / mean
    assert mutants_of_evidence.smallest(below(7.0), stored, family, fine, limit=2.0) is None
    assert mutants_of_evidence.smallest(below(1e9), stored, family, fine) is None
    above = claim(lambda runs: runs[0].values("sgd", "loss_gap")[-1].mean() * 1e3 > mean / 2)
    assert 0.48 < mutants_of_evidence.smallest(above, stored, family, fine) <= 0.5
    slope = claim(
        lambda runs: np.polyfit(np.log(STEPS), np.log(runs[0].values("sgd", "loss_gap").mean(-1)), 1)[0] < -0.8
    )
    (tilt,) = [f for f in FAMILIES if f.words == "all errors" and f.tilt]
    assert mutants_of_evidence.smallest(slope, stored, tilt, fine) == pytest.approx(0.2, abs=0.04)


def test_the_sentence_of_a_claim(stored):
    words = mutants_of_evidence.power(stored, [below(1.3)], print)["toy/claim"]
    size = re.fullmatch(r"would notice a factor (1\.\d+) in the loss gap", words)
    assert size
    assert 1.2 < float(size[1]) < 1.4
    deaf = mutants_of_evidence.power(stored, [claim(lambda runs: runs[0].values("sgd", "loss_gap")[0, 0] != 0)], print)
    assert deaf["toy/claim"] == "would notice none of the corruptions with a size"
    closed = mutants_of_evidence.power(stored, [claim(lambda runs: runs[0].row["mu"] == 1)], print)
    assert closed["toy/claim"].startswith("reads no measured number")


def test_a_survey_says_who_noticed(stored):
    kinds = {
        name: KINDS[name]
        for name in ("loss gap x 2", "one nan", "numbers of budgets reversed", "every replicate twice")
    }
    loud, deaf = below(1.5), claim(lambda runs: len(runs) == 2, "toy/deaf")
    found = {n.kind: n for n in mutants_of_evidence.survey(stored, [loud, deaf], kinds, print)}
    assert found["loss gap x 2"].verdict == ["toy/claim"]
    assert found["one nan"].verdict == ["toy/claim"]
    assert found["every replicate twice"].verdict == []
    assert all("toy/deaf" in n.silent for n in found.values())
    refusing = claim(lambda runs: 1 / 0)
    assert mutants_of_evidence.asked(refusing, AlteredEvidence(stored)).verdict == "refused: ZeroDivisionError"


def test_alterations_do_what_they_say_and_leave_the_stored_alone(stored):
    before = [r.data.values.copy() for r in stored.runs("toy")]
    for name, alteration in KINDS.items():
        evidence = AlteredEvidence(stored, alteration)
        try:
            runs = evidence.runs("toy")
        except AttributeError:  # a kind of another problem or schedule, which these runs do not have
            assert name.startswith(("problem", "schedule", "budgets"))
            continue
        with np.errstate(all="ignore"):
            for one in runs:
                assert one.values("sgd", "loss_gap").shape[0] == len(one.steps)
    for old, r in zip(before, stored.runs("toy"), strict=True):
        np.testing.assert_array_equal(old, r.data.values)
    half = AlteredEvidence(stored, through(scaled(0.5, ("loss_gap",)))).runs("toy")[0]
    np.testing.assert_allclose(half.values("asgd", "loss_gap"), before[0][1, :, 1] / 2)
    np.testing.assert_array_equal(half.values("asgd", "param_distance"), np.sqrt(before[0][1, :, 0]))
    bent = AlteredEvidence(stored, through(tilted(0.5))).runs("toy")[0].values("sgd", "loss_gap")
    np.testing.assert_allclose(bent / before[0][0, :, 1], [[0.1], [10**-0.5], [1.0]] * np.ones(30))
    assert len(KINDS) >= 60


def test_two_algorithms_are_exchanged_whatever_else_they_estimate():
    """Runs of one have an average, those of the other none: what both have, the last iterate, changes places."""
    both, alone = run(level=1.0), run(level=0.5)
    alone = Run(alone.cell, alone.row, alone.data._replace(values=alone.data.values[:1], estimators=("sgd",)))
    both.cell.algorithm.name, alone.cell.algorithm.name = "dp-sgd", "dp-sgld"
    there, here = KINDS["dp-sgld and dp-sgd exchanged"]([both, alone])
    np.testing.assert_array_equal(there.data.values[0], alone.data.values[0])
    np.testing.assert_array_equal(there.data.values[1], both.data.values[1])
    np.testing.assert_array_equal(here.data.values[0], both.data.values[0])


def test_summaries_are_those_of_the_altered_runs(stored, monkeypatch):
    from dpexp.papers.momentum import rows
    from tests.campaigns.altered_runs import read_from

    for r in stored.runs("toy"):
        r.cell.run = SimpleNamespace(diverged_above=1e6)
        r.row["cell_id"] = r.budget
    plain = rows.load_summary
    evidence = AlteredEvidence(stored, through(scaled(3.0, ("loss_gap",))))
    with read_from(evidence):
        frame = rows.load_summary(stored.results, "toy")
    assert rows.load_summary is plain
    (last,) = frame[
        (frame.metric == "loss_gap") & (frame.step == 1000) & (frame.estimator == "asgd") & (frame.budget == "2")
    ].to_dict("records")
    numbers = 3 * stored.runs("toy")[1].data.values[1, -1, 1]
    assert last["mean"] == pytest.approx(numbers.mean())
    assert last["sd"] == pytest.approx(numbers.std(ddof=1))


# --- theory -----------------------------------------------------------------------------------------------------


def test_a_mutant_of_theory_is_seen_by_all_who_hold_the_function(monkeypatch):
    monkeypatch.setattr(mutants_of_theory, "forget", lambda: None)
    from dpexp.theory.ldp_sgd.theorem3 import second_moment as held

    assert held(2.0, 3, 5.0, 0.5) == 4 + 37.5
    original = noise.second_moment.__code__
    mine = [m for m in mutants_of_theory.drawn(10**6) if m.path.endswith("noise.py") and m.function == "second_moment"]
    values = {}
    for mutant in mine:
        try:
            mutants_of_theory.put(mutant)
            values[mutant.kind, mutant.index] = held(2.0, 3, 5.0, 0.5)
        finally:
            noise.second_moment.__code__ = original
    assert held(2.0, 3, 5.0, 0.5) == 41.5
    assert values["left term dropped", 0] == 37.5
    assert values["right term dropped", 0] == 4
    assert values["exponent + 0.05", 0] == pytest.approx(2**2.05 + 37.5)
    assert len(set(values.values()) - {41.5}) == len(mine)


def test_every_function_of_theory_can_be_reached():
    found = mutants_of_theory.drawn(10**6)
    assert len(found) > 500
    for path, function in {(m.path, m.function) for m in found}:
        mutants_of_theory.loaded(mutants_of_theory.module_name(ROOT / path, ROOT), function)


# --- code -------------------------------------------------------------------------------------------------------

SOURCE = b'''"""A module of 3 lines."""
LEVEL = 0.95
def f(x: int = 2, *rest: "3") -> float:
    if x > 4 and not rest:
        raise ValueError(f"{x - 5}")
    return max(abs(x), -7) / (x ** 2 + 1)
'''


def test_every_mutant_is_one_line_of_a_program():
    found = places(SOURCE)
    kinds = {place.kind for place in found}
    assert kinds == {"number", "operator", "dropped", "sign", "call", "condition"}
    for place in found:
        new = place.applied(SOURCE)
        different = [k for k, (a, b) in enumerate(zip(SOURCE.splitlines(), new.splitlines(), strict=True), 1) if a != b]
        assert different == [place.line]
        assert place.line != 5
    assert not any(b'"3"' not in place.applied(SOURCE) for place in found)
    assert sum(is_program(place.applied(SOURCE)) for place in found) > 0.9 * len(found)
    ast.parse(SOURCE)


def test_every_mutant_has_a_home(drawn):
    files = {path.name for path in (ROOT / "tests").glob("test_*.py")}
    assert all(home(mutant.path) for mutant in drawn)
    assert {f"test_{name}.py" for names in HOMES.values() for name in names.split()} <= files
    assert home("dpexp/engine/lanes/vectors.py")[0] == "tests/test_engine_lanes.py"
    assert home("dpexp/commands/cli.py") == []


def test_the_statement_around_a_line():
    source = b"A = (\n    1,\n)\ndef f(x=2):\n    if x:\n        y = (\n            x\n        )\n        return y\n    return 0\n"
    found = [lines_of(source, line) for line in range(1, 11)]
    assert found[:3] == [(1, 3, False)] * 3
    assert found[3:5] == [(4, 4, False), (5, 5, True)]
    assert found[5:8] == [(6, 8, True)] * 3
    assert found[8:] == [(9, 9, True), (10, 10, True)]


TOY = """import threading

LEVEL = 3


def twice(x):
    if x > LEVEL:
        return 2 * x
    return x + x


def later(x):
    found = []
    thread = threading.Thread(target=lambda: found.append(twice(x)))
    thread.start()
    thread.join()
    return found[0]
"""
TESTS_OF_TOY = """import pytest
from dpexp.toy import later, twice


@pytest.fixture(scope="module")
def large():
    return twice(5)


def test_small():
    assert twice(1) == 2


def test_large(large):
    assert large == 10


def test_large_again(large):
    assert large < 11


def test_thread():
    assert later(2) == 4


def test_nothing():
    assert True


def test_wrong():
    assert twice(1) == 3
"""


def test_which_tests_execute_a_line(tmp_path):
    """Also what a fixture or a thread executes; tests that fail without any mutant are left out."""
    for name, text in {
        "pyproject.toml": "",
        "dpexp/__init__.py": "",
        "dpexp/toy.py": TOY,
        "tests/__init__.py": "",
        "tests/test_toy.py": TESTS_OF_TOY,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    program = f"""if True:
        import json
        from pathlib import Path
        from tests.campaigns.mutants_of_code import watched
        print(json.dumps(watched(Path({str(tmp_path)!r}), "tests/test_toy.py", {{"dpexp/toy.py": {{8, 9}}}})))
    """
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=300)
    found = json.loads(done.stdout)
    names = {name.split("::")[1]: test["lines"] for name, test in found["tests"].items()}
    large, small, module = "dpexp/toy.py:8", "dpexp/toy.py:9", "dpexp/toy.py:0"
    assert names == {
        "test_small": [module, small],
        "test_large": [module, large],
        "test_large_again": [module, large],
        "test_thread": [module, small],
        "test_nothing": [],
    }
    assert found["failed"] == ["tests/test_toy.py::test_wrong"]


@pytest.fixture(scope="module")
def drawn():
    return mutants_of_code.drawn(200)


def test_mutants_of_code_are_drawn_from_every_part_and_always_the_same(drawn):
    found = drawn
    assert found == mutants_of_code.drawn(200)
    assert len({m.id for m in found}) == 200
    for few in (found[:40], found):
        for part, (share, _) in mutants_of_code.PARTS.items():
            assert abs(sum(m.part == part for m in few) - share * len(few) / 200) <= 1


def test_stages_follow_each_other_and_a_campaign_goes_on(tmp_path, monkeypatch, drawn):
    """The first mutant is noticed at once, the second by slow tests, the third by nothing."""
    chosen = drawn[:3]
    calls = []

    def copied(root, target):
        for m in chosen:
            (target / m.path).parent.mkdir(parents=True, exist_ok=True)
            (target / m.path).write_bytes((root / m.path).read_bytes())
        (target / "tests").mkdir(exist_ok=True)
        for name in ("x", "y"):
            (target / "tests" / f"test_{name}.py").write_text("")

    def ran(copy, arguments, limit_s, *rest):
        (now,) = [k for k, m in enumerate(chosen) if (copy / m.path).read_bytes() != (ROOT / m.path).read_bytes()]
        calls.append((now, arguments))
        bad = now == 0 or (now == 1 and "slow" in arguments)
        return ("failed", "FAILED tests/test_x.py::t", 1.0) if bad else ("passed", "", 1.0)

    for name, new in (("copied", copied), ("ran", ran), ("preload", lambda: None)):
        monkeypatch.setattr(mutants_of_code, name, new)
    every = [f"{m.path}:{line}" for m in chosen for line in (0, m.place.line)]

    def seen(self, test):
        """The tests of x execute all lines, those of y none."""
        return {"tests": {f"{test}::t": {"s": 1.0, "lines": every if "x" in test else []}}, "compiled": []}

    monkeypatch.setattr(mutants_of_code.Tests, "_seen", seen)
    monkeypatch.setattr(mutants_of_code, "home", lambda path: ["tests/test_x.py"])
    monkeypatch.setattr(mutants_of_code, "drawn", lambda count: chosen)
    monkeypatch.setattr(mutants_of_code.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setenv("DPEXP_CACHE", str(tmp_path))

    def noticed(stages, again=False):
        return [f["noticed"] for f in mutants_of_code.campaign(chosen, tmp_path, 1e9, stages, again, lambda line: None)]

    assert noticed(["near"]) == ["near", "nothing", "nothing"]
    assert noticed(["near", "fast", "slow", "rest"]) == ["near", "slow", "nothing"]
    assert len(calls) == 3 + 1 + 2
    assert noticed(["near", "fast", "slow", "rest"]) == ["near", "slow", "nothing"]
    assert len(calls) == 6
    assert [next(a for a in arguments if "test" in a)[-4] for _, arguments in calls] == list("xxxxxy")
    assert noticed(["near"], again=True) == ["near", "slow", "nothing"]
    assert len(calls) == 8
    lines = [json.loads(line) for line in (tmp_path / "code.jsonl").read_text().splitlines()]
    assert lines[-1]["tried"] == ["near", "fast", "slow", "rest"]


def test_targets():
    def found(near, fast, slow, nothing):
        counts = {"near": near, "fast": fast, "slow": slow, "nothing": nothing}
        return [{"noticed": name} for name, count in counts.items() for _ in range(count)]

    assert mutants.shares(found(80, 11, 7, 2), lambda f: "")
    assert not mutants.shares(found(80, 9, 10, 1), lambda f: "")
    assert not mutants.shares(found(90, 5, 1, 4), lambda f: "")
    assert mutants.shares(found(90, 5, 1, 4), lambda f: "changes nothing")


@pytest.mark.slow
def test_real_tests_notice_a_real_mutant(tmp_path):
    """`ran` on a tree of one module and its tests, in a process of its own: as it is, with a mutant, without an end."""
    for name in ("dpexp/store/stats.py", "tests/test_stats.py", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    for package in ("dpexp", "dpexp/store", "tests"):
        (tmp_path / package / "__init__.py").write_text("")
    program = f"""if True:
        from pathlib import Path
        from tests.campaigns.mutants_of_code import ran
        copy = Path({str(tmp_path)!r})
        stats = copy / "dpexp/store/stats.py"
        text = stats.read_text()
        print(ran(copy, ["-k", "hand", "tests/test_stats.py"], 100)[0])
        stats.write_text(text.replace("values.std(axis=-1, ddof=1)", "values.std(axis=-1, ddof=0)"))
        print(ran(copy, ["-k", "hand", "tests/test_stats.py"], 100)[0])
        stats.write_text("while True: pass")
        print(ran(copy, ["tests/test_stats.py"], 3)[0])
    """
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.stdout.split("\n")[:3] == ["passed", "failed", "never ends"], done.stdout + done.stderr
