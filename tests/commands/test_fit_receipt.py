"""Deployments of `dpexp fit` leave receipts, which count what was spent whatever happens in between."""

import json

import numpy as np
import pytest

import dpexp
from dpexp.accounting.gaussian import eps_of
from dpexp.core.errors import UsageError


@pytest.fixture
def lab(tmp_path):
    rng = np.random.default_rng(1)
    x = rng.normal(size=4000)
    lines = [f"{a},{b}" for a, b in zip(x, 1 + 2 * x + rng.normal(size=len(x)), strict=True)]
    (tmp_path / "people.csv").write_text("\n".join(["x,y", *lines]) + "\n")
    (tmp_path / "public.yaml").write_text("ranges: {x: [-2, 2], y: [-5, 7]}\nerror_scale: 1\n")
    return tmp_path


def deployed(lab, mu=1.0, **more):
    given = {"mu": mu, "central": True, "deployment": True, "out": lab / "out" / "fit.json"}
    return dpexp.fit(lab / "people.csv", target="y", public=lab / "public.yaml", **{**given, **more})


def test_a_deployment_leaves_its_result_and_a_receipt(lab):
    report = deployed(lab)
    told = json.loads((lab / "out" / "fit.receipt.json").read_text())
    assert json.loads((lab / "out" / "fit.json").read_text())["estimates"] == report.document()["estimates"]
    assert (told["status"], told["mu"], told["unit"], told["neighboring_relation"]) == (
        "released", 1.0, "record", "replace-one",
    )  # fmt: skip
    assert told["eps"] == [[1e-5, eps_of(1.0, 1e-5)]]
    assert "floating-point" in told["not_covered"]
    assert "Spent by the receipts there: mu = 1, epsilon = " in report.text()
    numbers = {
        repr(one[key])
        for one in report.document()["estimates"]
        for key in ("estimate", "conf_low", "conf_high", "std_error")
    }
    assert not any(number in json.dumps(told) for number in numbers)  # no statistic of the records


def test_a_second_one_needs_the_word_and_adds_up(lab):
    deployed(lab, deployment=False, out=lab / "tried" / "fit.json")
    assert [path.name for path in (lab / "tried").iterdir()] == ["fit.json"]  # a rehearsal has no receipt
    deployed(lab)
    with pytest.raises(UsageError, match=r"1 deployment spent mu = 1, .* here") as refused:
        deployed(lab)
    assert "--again" in refused.value.hint
    assert len(list((lab / "out").glob("[!.]*"))) == 2  # beside the lock
    first = (lab / "out" / "fit.json").read_bytes()
    text = deployed(lab, mu=0.5, again=True).text()
    assert "mu = 1.1181, epsilon = " in text
    assert (lab / "out" / "fit.json").read_bytes() == first
    assert json.loads((lab / "out" / "fit-2.receipt.json").read_text())["mu"] == 0.5
    second = json.loads((lab / "out" / "fit-2.json").read_text())
    assert second["public"]["noise"] == "operating system, not stored"
    assert second["public"]["order_seed"] != json.loads(first)["public"]["order_seed"]
    with pytest.raises(UsageError, match="2 deployments spent"):
        deployed(lab, deployment=False)  # nor does a rehearsal take its place


def test_what_dies_before_its_end_is_spent(lab, monkeypatch):
    """The receipt is there when the noise is drawn, and says begun; noise is drawn after it."""
    seen = []

    def dies(*given):
        seen.append(json.loads((lab / "out" / "fit.receipt.json").read_text())["status"])
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("dpexp.inference.user_blocks.operating_system_normals", dies)
        with pytest.raises(KeyboardInterrupt):
            deployed(lab)
    assert seen == ["begun"]
    assert not (lab / "out" / "fit.json").exists()
    with pytest.raises(UsageError, match="1 deployment spent mu = 1,"):
        deployed(lab)
    assert "mu = 1.4143, epsilon = " in deployed(lab, again=True).text()


def test_a_receipt_that_cannot_be_read_stops_everything(lab):
    (lab / "out").mkdir()
    (lab / "out" / "fit.receipt.json").write_text("{}")
    with pytest.raises(UsageError, match="no receipt that can be read"):
        deployed(lab, again=True)
