"""`dpexp fit`: own records, public inputs, both models, refusals and what is printed, from the command line and Python."""

import json
import math
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpexp
from dpexp.accounting.gaussian import eps_of
from dpexp.commands.fit import read_public
from dpexp.commands.fit_result import read_fit
from dpexp.core.errors import PrivateWarning, UsageError
from dpexp.core.text import standard_json
from dpexp.data.dataset import DataError
from dpexp.data.public_inputs import PublicInputs
from dpexp.data.records import read_record_table
from dpexp.data.regression import Roles, read_records
from tests.conftest import call

N = 10_000
PUBLIC = """\
ranges: {age: [20, 70], y: [0, 60]}
categories: {job: [clerk, cook, nurse]}
error_scale: 3
"""


def people(n=N, seed=1):
    rng = np.random.default_rng(seed)
    age, job = rng.normal(45, 12, n), rng.choice(["clerk", "cook", "nurse"], n)
    y = 10 + 0.5 * age + 3 * (job == "cook") - 2 * (job == "nurse") + 4 * rng.standard_normal(n)
    return pd.DataFrame({"age": age, "job": job, "y": y})


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    place = tmp_path_factory.mktemp("fit")
    frame = people()
    frame.to_csv(place / "people.csv", index=False)
    frame.to_parquet(place / "people.parquet")
    (place / "public.yaml").write_text(PUBLIC)
    return place


def command(*arguments):
    return call("fit", *arguments, code=None)


# the intercept is at the centre of the stated range, 45
TRUTH = {"(intercept)": 32.5, "age": 0.5, "job=cook": 3, "job=nurse": -2, "(scale)": 4}


@pytest.mark.parametrize("central", [False, True])
@pytest.mark.parametrize("file", ["people.csv", "people.parquet"])
def test_estimates_are_near_the_truth_on_the_users_scale(lab, file, central):
    mu = 2.0 if central else 4.0
    report = dpexp.fit(lab / file, target="y", mu=mu, public=lab / "public.yaml", central=central)
    document = report.document()
    assert report.exit_code == 0
    assert document["method"] == ("central-newton" if central else "staged-newton")
    assert [one["term"] for one in document["estimates"]] == list(TRUTH)
    for one in document["estimates"]:
        assert abs(one["estimate"] - TRUTH[one["term"]]) < 4.5 * one["std_error"]
        assert one["conf_high"] - one["conf_low"] == pytest.approx(2 * 1.959964 * one["std_error"], rel=1e-6)
    widths = {one["term"]: one["conf_high"] - one["conf_low"] for one in document["estimates"]}
    assert widths["age"] < (0.02 if central else 0.12)


def test_the_document_is_the_contracts(lab):
    words = ("--target", "y", "--eps", "4", "--public", lab / "public.yaml", "--central", "--json")
    document = json.loads(call("fit", lab / "people.csv", *words).stdout)
    assert set(document) >= {"estimates", "level", "method", "budget", "diagnostics", "refused"}
    assert set(document["estimates"][0]) >= {"term", "estimate", "conf_low", "conf_high"}
    assert (document["refused"], document["level"]) == ([], 0.95)
    assert set(document["budget"]) >= {"mu", "per_user", "eps"}
    (_, eps), _ = document["budget"]["eps"]
    assert eps == pytest.approx(4, abs=1e-9)
    assert eps <= 4


def test_python_and_the_command_agree(lab):
    local = dpexp.fit(lab / "people.csv", target="y", mu=np.float64(2), public=lab / "public.yaml")
    done = command(lab / "people.csv", "--target", "y", "--mu", "2", "--public", lab / "public.yaml", "--json")
    assert json.loads(done.stdout) == json.loads(standard_json(local.document()))


def test_budgets_by_column(lab, tmp_path):
    people().assign(mu=np.where(np.arange(N) % 4 == 0, 3.0, 1.0)).to_csv(tmp_path / "mu.csv", index=False)
    document = dpexp.fit(tmp_path / "mu.csv", target="y", mu_column="mu", public=lab / "public.yaml").document()
    assert document["budget"]["mu"] == 3
    assert document["budget"]["per_user"] == {"cap": 3, "least": 1}
    assert "mu" not in [one["term"] for one in document["estimates"]]
    assert document["budget"]["eps"][0][1] == eps_of(3.0, 1e-5)
    done = command(tmp_path / "mu.csv", "--target", "y", "--mu-column", "mu", "--central")
    assert done.returncode == 2


def test_equal_weights_are_right_where_budgets_rise_with_the_outcome(tmp_path):
    """Weighed by budget the intercept is tens of standard errors off; the fit says where budgets are from."""
    rng, n = np.random.default_rng(4), 10_000
    frame = pd.DataFrame({"a": rng.standard_normal(n)})
    frame["y"] = 0.5 * frame.a + rng.standard_normal(n)
    frame["mu"] = 2 * np.exp(0.3 * frame.y)
    frame.to_csv(tmp_path / "rising.csv", index=False)
    off = {}
    for weights in ("budget", "equal"):
        report = dpexp.fit(tmp_path / "rising.csv", target="y", mu_column="mu", weights=weights)
        first = report.document()["estimates"][0]
        off[weights] = abs(first["estimate"]) / first["std_error"]
        assert report.document()["budget"]["column"] == "mu"
        assert report.document()["budget"]["weights"] == weights
        assert ("must not depend on the data" in str(report)) == (weights == "budget")
    assert off["budget"] > 10
    assert off["equal"] < 4.5


def test_a_fit_of_fewer_records_than_were_ever_tried_is_refused_and_spends_nothing(tmp_path):
    people(300).drop(columns="job").to_csv(tmp_path / "few.csv", index=False)
    public = write(tmp_path / "p.yaml", "ranges: {age: [20, 70], y: [0, 60]}\nerror_scale: 3")
    done = command(tmp_path / "few.csv", "--target", "y", "--mu", "1", "--public", public)
    assert done.returncode == 3
    assert "nothing was spent" in done.stdout
    assert "n = 600 would do" in done.stdout
    report = dpexp.fit(tmp_path / "few.csv", target="y", mu=1, public=public)
    assert all(one["estimate"] is None for one in report.document()["estimates"])


@pytest.mark.parametrize("mu", [2.0, math.inf])
def test_collinear_and_constant_columns_are_unbounded(mu):
    rng, n = np.random.default_rng(3), 20_000
    frame = pd.DataFrame({"a": rng.standard_normal(n), "b": 1.0})
    frame["twice"], frame["y"] = 2 * frame.a, frame.a + rng.standard_normal(n)
    for names, bounded in ((["a", "twice", "y"], {"(intercept)", "(scale)"}), (["a", "b", "y"], {"a", "(scale)"})):
        fit = dpexp.fit(frame[names], target="y", mu=mu, central=True)
        rows = fit.frame().set_index("term")
        assert set(rows.index[rows.bounded]) == set(rows.index[rows.std_error.notna()]) == bounded
        assert "would do" not in str(fit)  # no number of records helps
        assert fit.exit_code == 0


def test_the_order_of_rows_is_the_servers(tmp_path):
    """A sorted file gives another draw of the same law, and no refusal."""
    frame = people(30_000)[["age", "y"]].sort_values("y")
    public = {"ranges": {"age": [20, 70], "y": [0, 60]}, "error_scale": 3}
    report = dpexp.fit(frame, target="y", mu=3, public=public)
    assert report.exit_code == 0
    assert abs(report.document()["estimates"][1]["estimate"] - 0.5) < 5 * report.frame().std_error[1]


@pytest.mark.parametrize("n", [1, 10, 149])
@pytest.mark.parametrize("mu", [1e-6, 1.0, math.inf])
@pytest.mark.parametrize("central", [False, True])
def test_tiny_files_end_in_a_refusal_and_never_in_a_traceback(tmp_path, n, mu, central):
    people(n)[["age", "y"]].to_csv(tmp_path / "tiny.csv", index=False)
    report = dpexp.fit(tmp_path / "tiny.csv", target="y", mu=mu, central=central)
    if not (central and n >= 149):  # 40 for each of three parameters
        assert report.exit_code == 3
    assert report.text()
    assert standard_json(report.document())


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("line", "public", "message"),
    [
        (",3", "", "a is missing"),
        ('"1,3', "", "its line does not hold one value for each column"),
        ("2,inf", "", "y is not a number: 'inf'"),
        ("z,3", "categories: {a: ['1', w]}", "a is not among its categories"),
    ],
)
@pytest.mark.parametrize("deployment", [False, True])
def test_a_value_that_cannot_be_read_moves_its_own_record_alone(tmp_path, line, public, message, deployment):
    """It keeps its place and sends noise alone; the owner of a rehearsal is told, and nobody else."""
    path = write(tmp_path / "t.csv", f"a,y\n1,2\n{line}\n1,4\n")
    stated = write(tmp_path / "p.yaml", public) if public else None
    read = read_records(
        read_record_table(path), Roles("y"), PublicInputs() if not public else read_public(stated), False
    )
    assert read.owners.tolist() == [0, 2]
    assert read.n == 3
    assert len(read.x) == len(read.y) == 2
    secret = {"deployment": True, "out": tmp_path / "fit.json"} if deployment else {}
    with nullcontext() if deployment else pytest.warns(PrivateWarning, match="1 of 3 records"):
        report = dpexp.fit(path, target="y", mu=1, public=stated, central=True, **secret)
    assert report.document()["glance"]["nobs"] == 3
    assert len(report.remarks) == (not deployment)
    assert all(text in said for said in report.remarks for text in (message, f"first {path}:3", "do not publish"))
    assert message not in report.text() + standard_json(report.document())


@pytest.mark.parametrize("deployment", [False, True])
def test_where_no_record_can_be_read_nothing_is_spent(tmp_path, deployment):
    path = write(tmp_path / "t.csv", "g,y\n" + "a,1\nb,2\n" * 20)
    given = {"target": "y", "mu": 1, "deployment": deployment, "out": tmp_path / "fit.json"}
    with pytest.raises(DataError, match=r"40 of 40 records .* g is not a number: 'a' .*private") as refused:
        dpexp.fit(path, **given)
    assert "categories" in refused.value.hint
    assert list(tmp_path.glob("fit*")) == []
    assert dpexp.fit(path, **given, public={"categories": {"g": ["a", "b"]}}).remarks == []


def test_a_plan_reads_no_record(lab, tmp_path):
    """The records of this file cannot even be read: only its first line is."""
    broken = write(tmp_path / "broken.csv", 'age,job,y\n"never closed\n')
    right = write(tmp_path / "right.yaml", PUBLIC.replace("error_scale: 3", "error_scale: 4"))
    words = ("--target", "y", "--mu", "2", "--n", "3000", "--public", right, "--central", "--json")
    plan = command("--plan", broken, *words)
    assert plan.returncode == 0, plan.stderr
    document = json.loads(plan.stdout)
    fitted = dpexp.fit(people(3000), target="y", mu=2, public=right, central=True).document()
    expected = {one["term"]: one["std_error"] for one in document["expected"]}
    for one in fitted["estimates"]:
        assert one["std_error"] == pytest.approx(expected[one["term"]], rel=0.3)
    alone = command("--plan", *words)
    assert sorted(json.loads(alone.stdout)["expected"], key=str) == sorted(document["expected"], key=str)
    assert command("--plan", "--target", "y", "--mu", "1", "--public", lab / "public.yaml").returncode == 2


needs_formulaic = pytest.mark.skipif(find_spec("formulaic") is None, reason="the extra [formula]")


def wages(n=20_000, seed=5):
    rng = np.random.default_rng(seed)
    age, job = rng.uniform(20, 60, n), rng.choice(["cook", "nurse", "pilot"], n, p=[0.5, 0.3, 0.2])
    log_wage = 1 + 0.05 * age - 0.0004 * age**2 + 0.2 * (job == "nurse") + (0.5 - 0.01 * age) * (job == "pilot")
    wage = np.exp(log_wage + 0.3 * rng.standard_normal(n))
    return pd.DataFrame({"wage": wage, "age": age, "job": job, "years": rng.uniform(1, 30, n)})


WAGES = (
    "ranges: {wage: [2, 60], age: [20, 60], years: [1, 30]}\ncategories: {job: [cook, nurse, pilot]}\nerror_scale: .3"
)


@needs_formulaic
def test_a_formula_without_noise_is_least_squares_on_its_columns(tmp_path):
    """On the user's scale, whatever the public centres: a square, levels, a product, logarithms."""
    frame, public = wages(), write(tmp_path / "p.yaml", WAGES)
    frame["y"] = np.log(frame.wage)
    report = dpexp.fit(
        frame, formula="log(wage) ~ I(age**2) + age*C(job) + log(years)", mu=math.inf, central=True, public=public
    )
    found = {one["term"]: one for one in report.document()["estimates"]}
    nurse, pilot = (frame.job == "nurse") * 1.0, (frame.job == "pilot") * 1.0
    columns = {"(intercept)": np.ones(len(frame)), "age**2": frame.age**2, "age": frame.age, "job=nurse": nurse,
               "job=pilot": pilot, "age:job=nurse": nurse * frame.age, "age:job=pilot": pilot * frame.age,
               "log(years)": np.log(frame.years)}  # fmt: skip
    assert set(found) == {*columns, "(scale)"}
    exact, *_ = np.linalg.lstsq(np.stack(list(columns.values()), axis=1), frame.y, rcond=None)
    at = {"(intercept)": 1, "age**2": 40**2, "age": 40, "log(years)": math.log(15.5)}  # of the first job
    wanted = np.append(np.dot([at.get(name, 0) for name in columns], exact), exact[1:])
    for name, value in zip(columns, wanted, strict=True):
        assert (
            abs(found[name]["estimate"] - value) < 1.0 * found[name]["std_error"]
        )  # Huber's loss and weights are others
        assert found[name]["interval"] == "wald"
    assert report.document()["glance"]["target"] == "log(wage)"
    mean = report.predict(frame.iloc[:5].drop(columns="wage"))["mean"]
    assert mean.to_numpy() == pytest.approx((np.stack(list(columns.values()), axis=1) @ exact)[:5], abs=0.03)


def test_contrasts_are_coefficients_of_other_columns(lab):
    """cook - nurse by the covariance; the reference level is 0; the joint test of one is its own."""
    names = ("job=cook - job=nurse", "age - job=clerk", "- 2*age + job=cook")
    report = dpexp.fit(lab / "people.csv", target="y", mu=2, central=True, public=lab / "public.yaml", contrasts=names)
    found = report.document()["contrasts"]
    estimates = {one["term"]: one for one in report.document()["estimates"]}
    c = pd.DataFrame(report.document()["covariance"], TRUTH, TRUTH)
    first, age, third = found["rows"]
    assert first["estimate"] == pytest.approx(estimates["job=cook"]["estimate"] - estimates["job=nurse"]["estimate"])
    variance = c.loc["job=cook", "job=cook"] + c.loc["job=nurse", "job=nurse"] - 2 * c.loc["job=cook", "job=nurse"]
    assert first["std_error"] == pytest.approx(math.sqrt(variance), rel=0.01)  # lengths are made up for each by itself
    assert abs(first["estimate"] - 5) < 4.5 * first["std_error"]
    assert all(age[key] == estimates["age"][key] for key in ("estimate", "std_error", "conf_low", "p_value"))
    assert third["estimate"] == pytest.approx(estimates["job=cook"]["estimate"] - 2 * estimates["age"]["estimate"])
    assert found["joint"]["p_value"] < 1e-6
    for wrong in ("cook - age", "job=clerk", "age - age"):
        with pytest.raises(UsageError, match="--contrast"):
            dpexp.fit(lab / "people.csv", target="y", mu=2, public=lab / "public.yaml", contrasts=[wrong])


@pytest.mark.parametrize("model", ["huber-linear", "mallows-logistic"])
def test_predictions_are_means_with_their_errors(tmp_path, monkeypatch, model):
    rng, n = np.random.default_rng(9), 6000
    frame = pd.DataFrame({"a": rng.standard_normal(n), "g": rng.choice(["u", "v"], n)})
    eta = 0.3 + frame.a - 0.5 * (frame.g == "v")
    binary = model == "mallows-logistic"
    frame["y"] = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float) if binary else eta + rng.standard_normal(n)
    public = write(tmp_path / "p.yaml", "ranges: {a: [-3, 1]}\ncategories: {g: [u, v]}")
    report = dpexp.fit(frame, target="y", mu=3, central=True, model=model, public=public)
    new = pd.DataFrame({"g": ["v", "u", "?"], "a": [0.5, 0.0, 1.0]})
    with pytest.warns(PrivateWarning, match="1 of 3 records"):
        found = report.predict(new)
    value = {one["term"]: one["estimate"] for one in report.document()["estimates"]}
    # the centre of the range is -1
    by_hand = [value["(intercept)"] + 1.5 * value["a"] + value["g=v"], value["(intercept)"] + value["a"]]
    row, c = np.array([1, 1.5, 1, 0][: len(value)]), np.array(report.document()["covariance"])
    se = math.sqrt(row @ c @ row)
    if binary:
        by_hand = [1 / (1 + math.exp(-one)) for one in by_hand]
        se *= by_hand[0] * (1 - by_hand[0])
    assert found["mean"][:2].tolist() == pytest.approx(by_hand)
    assert found["std_error"][0] == pytest.approx(se, rel=0.02)
    assert found["conf_low"][0] < found["mean"][0] < found["conf_high"][0]
    assert found.loc[2].isna().all()
    assert report.frame()["term"].tolist() == list(value)
    monkeypatch.setenv("HOME", str(tmp_path))
    new.to_csv(tmp_path / "new.csv", index=False)
    with pytest.warns(PrivateWarning):
        assert all(report.predict(path).equals(found) for path in ("~/new.csv", Path("~/new.csv")))


def test_what_is_read_from_its_file_is_the_fit(lab, tmp_path):
    """Estimates, intervals at any level, and predictions: everything follows from the released numbers in the file."""
    given = {"target": "y", "mu": 2, "central": True, "public": lab / "public.yaml", "out": tmp_path / "fit.json"}
    report, stored = dpexp.fit(lab / "people.csv", **given), read_fit(tmp_path / "fit.json")
    assert stored.frame().equals(report.frame())
    new = people(50, 3)
    assert stored.predict(new).equals(report.predict(new))
    new.to_csv(tmp_path / "new.csv", index=False)
    call("predict", tmp_path / "fit.json", tmp_path / "new.csv", "--out", tmp_path / "means.csv")
    there = pd.read_csv(tmp_path / "means.csv")
    assert there.to_numpy() == pytest.approx(report.predict(tmp_path / "new.csv").to_numpy(), rel=1e-14)
    assert "job=nurse" in call("predict", tmp_path / "fit.json").stdout
    for text in ("{}", "[", '{"estimates": 1}'):
        other = write(tmp_path / "other.json", text)
        assert "not the result of a fit" in call("predict", other, code=2).stderr
