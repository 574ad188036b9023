"""Two neighbouring files: everything between a file and the noise differs in the changed record's own rows only.

A file is bytes. Neighbours under replace-one differ in one line, under add-remove one of them lacks a line, and of a
person all rows are others while its id stays. The values are odd on purpose. An *entry point* reads a file and says
what follows from it: `rows`, what is made of each record by its name, and `public`, everything else that can be seen
before the noise or of which the noise depends: numbers of records, noise multipliers, what is printed, errors, documents.

A new entry point is one line in `ENTRIES`. The faults at the end are planted one by one, and must be found.
"""

import csv
import io
import secrets
import shutil
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import dpexp.commands.fit as fit_command
import dpexp.data.encode as encode_module
import dpexp.data.labelled as labelled_module
import dpexp.data.records as records_module
import dpexp.data.regression as regression_module
import dpexp.inference.fitting as fitting
from dpexp.commands.fit_result import FitResult
from dpexp.commands.init import init
from dpexp.commands.released_model import ReleasedModel
from dpexp.core.errors import DpexpError
from dpexp.data.encode import Encoded
from dpexp.data.labelled import read_labelled
from dpexp.data.public_inputs import PublicColumn, PublicInputs
from dpexp.data.regression import Units, entries_of
from dpexp.inference.intervals import Release
from dpexp.inference.refusals import Checked
from dpexp.inference.user_scale import Inference
from tests.conftest import AT_LENGTH, invoked

NAMES = ("who", "age", "zone", "job", "ok", "born", "note", "y")
PUBLIC = """\
ranges: {age: [20, 70], born: [1950-01-01, 2010-12-31], y: [0, 60]}
categories: {zone: [1, 2, 3, other], ok: [no, yes, süd]}
missing: [born]
leave_out: [note, job]
"""
LEARNT = PublicInputs(
    {"age": (20.0, 70.0), "born": (-7305.0, 14974.0)},
    {"zone": ("1", "2", "3", "other"), "ok": ("no", "yes", "süd"), "y": ("0", "1", "2")},
    ("born",), ("note", "who"), ("born",),
)  # fmt: skip
USUAL = {
    "age": ["31", "45", "58", "22", "67"], "zone": ["1", "2", "3"], "job": ["5", "7", "9"], "ok": ["no", "yes", "süd"],
    "born": ["1980-02-03", "1999-12-31", ""], "note": ["fine", "später"], "y": ["0", "1", "2"],
}  # fmt: skip
ODD = [
    "2.5", "12.5", "77", "-31", "1e3", "", "nan", "NA", "1e400", "-1e39", "TRUE", "true", "No", " 01", "01", "1.0", "+2", "1,5", "1.000,5", "inf",
    "2,000", '"', '"a', 'a"b', '""', "x" * 3000, "é", "naïve", "Ω", "2001-01-02", "31.12.1999", "other", "ONE", "None",
    "\u0663", "1_0", "0x1", "1;2", "1\t2", "a|b", "\x00", "-0.0", "yes ", "1e-320", "99999999999999999999",
]  # fmt: skip
COLUMNS = (
    PublicColumn("age", (20.0, 70.0)),
    PublicColumn("zone", levels=("1", "2", "3", "other")),
    PublicColumn("job"),
)
PERSONS = 14
"""enough that the central fit is computed at all"""


class File(NamedTuple):
    """Lines of a file by the names of their records, and how they are written."""

    lines: dict[str, bytes]
    separator: str
    head: bytes

    def content(self) -> bytes:
        return b"\n".join([self.head, *self.lines.values()]) + b"\n"


@st.composite
def line_of(draw, person: str, separator: str) -> bytes:
    """One line: usual values, of which some are odd, written by a csv writer or joined as they are."""
    odd = draw(st.sets(st.sampled_from(NAMES[1:]), min_size=1, max_size=3))
    values = [person, *(draw(st.sampled_from(ODD if name in odd else USUAL[name])) for name in NAMES[1:])]
    if draw(st.sampled_from([True, True, True, False])):
        text = io.StringIO()
        csv.writer(text, delimiter=separator, lineterminator="").writerow(values)
        joined = text.getvalue()
    else:
        joined = separator.join(values)
    joined = joined + draw(st.sampled_from([*[""] * 7, separator, "\r", " "]))
    return joined.encode(draw(st.sampled_from(["utf-8", "utf-8", "latin-1"])), errors="replace").replace(b"\n", b" ")


@st.composite
def file_of(draw) -> File:
    separator = draw(st.sampled_from(",,;\t"))
    names = list(NAMES)
    head = (draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))) + separator.join(names).encode()
    lines = {}
    for k in range(PERSONS):
        usual = [f"p{k:02d}", *(USUAL[name][k % len(USUAL[name])] for name in names[1:])]
        lines[f"{k}.0"] = separator.join(usual).encode()
    for k in draw(st.lists(st.integers(0, PERSONS - 1), max_size=3)):
        lines[f"{k}.{len(lines)}"] = draw(line_of(f"p{k:02d}", separator))
    return File(lines, separator, head)


@st.composite
def replaced(draw) -> tuple[File, File, set[str]]:
    """Replace-one: the line of one record is another one."""
    file = draw(file_of())
    name = draw(st.sampled_from(sorted(file.lines)))
    person = f"p{int(name.split('.')[0]):02d}"
    return file, file._replace(lines={**file.lines, name: draw(line_of(person, file.separator))}), {name}


@st.composite
def removed(draw) -> tuple[File, File, set[str]]:
    """Add-remove: one of the files lacks a line."""
    file, other, (name,) = draw(replaced())
    return other, file._replace(lines={k: v for k, v in file.lines.items() if k != name}), {name}


@st.composite
def person_replaced(draw) -> tuple[File, File, set[str]]:
    """All rows of one person are others, and their number is another; its id stays, in a line that can be split."""
    file = draw(file_of())
    k = draw(st.integers(0, PERSONS - 1))
    rest = [(name, line) for name, line in file.lines.items() if int(name.split(".")[0]) != k]
    new = [(f"{k}.{100 + j}", draw(line_of(f"p{k:02d}", file.separator))) for j in range(draw(st.integers(0, 2)))]
    odd = draw(st.sampled_from(["31", "1,5", "x", ""]))
    new.append((f"{k}.99", file.separator.join([f"p{k:02d}", f'"{odd}"', *["1"] * 6]).encode()))
    place = draw(st.integers(0, len(rest)))
    return file, file._replace(lines=dict(rest[:place] + new + rest[place:])), {f"p{k:02d}"}


class Seen(NamedTuple):
    """What an entry point makes of a file before the noise."""

    rows: dict[str, Any]
    """by the name of the record or person"""
    public: dict[str, Any]


def bytes_of(*values: Any) -> bytes:
    return b"|".join(np.asarray(value).tobytes() for value in values)


def seen_of_fit(*words: str, person: bool = False, deployment: bool = False) -> Callable[[Path, File], Seen]:
    """`dpexp fit` as it is called; the fit itself is replaced by one that keeps what it is given."""

    def see(folder: Path, file: File) -> Seen:
        (folder / "t.csv").write_bytes(file.content())
        (folder / "p.yaml").write_text(PUBLIC if person else PUBLIC.replace("note", "note, who"))
        given: dict[str, Any] = {}

        def fake(planned, x, y, mu, normals, owners):
            given.update(plan=planned, x=x, y=y, owners=owners, mu=mu)
            p = planned.model.p
            release = Release(np.linspace(1, 2, p), np.zeros(p), np.eye(p), np.eye(p), 0.0, np.ones(p))
            return fitting.Fitted(release.point, Checked({}, (), ()), release)

        target = [] if "--formula" in words else ["--target", "y"]
        arguments = ["fit", str(folder / "t.csv"), *target, "--public", str(folder / "p.yaml"), "--mu", "1",
                     "--json", *words]  # fmt: skip
        arguments += ["--person", "who"] * person
        if deployment:
            shutil.rmtree(folder / "kept", ignore_errors=True)
            arguments += ["--deployment", "--out", str(folder / "kept" / "fit.json")]
        with ExitStack() as patched:
            for name in ("fit_central", "fit_local"):
                patched.enter_context(patch.object(fit_command, name, fake))
            for name in ("FEWEST", "FEWEST_CENTRAL"):
                patched.enter_context(patch.object(fitting, name, 0))
            patched.enter_context(patch.object(secrets, "randbits", lambda bits: 12345))
            texts = []
            text = FitResult.text
            patched.enter_context(patch.object(FitResult, "document", _with_text(FitResult.document, text, texts)))
            done = invoked(*arguments)
        if isinstance(done.exception, TypeError | AttributeError):
            raise done.exception  # of the test, and alike for all files
        error = None if done.exception is None or isinstance(done.exception, SystemExit) else repr(done.exception)
        said = [line for line in done.stderr.splitlines() if deployment or "private: do not publish" not in line]
        public = {"code": done.exit_code, "error": error, "stdout": done.stdout, "stderr": said, "text": texts}
        if not given:
            assert error, "the fit was not reached, so nothing would be compared"
            return Seen({}, public)
        names = sorted({f"p{int(name.split('.')[0]):02d}" for name in file.lines}) if person else list(file.lines)
        seed = 12345 if deployment else 1
        order = np.random.Generator(np.random.PCG64(seed)).permutation(len(names))
        public |= {"n": given["plan"].n, "mu": bytes_of(given["mu"])}
        public["planned"] = given["plan"].every
        rows = {
            names[k]: bytes_of(given["x"][given["owners"] == j], given["y"][given["owners"] == j])
            for j, k in enumerate(order)
        }  # fmt: skip
        return Seen(rows, public)

    return see


def _with_text(document: Callable, text: Callable, texts: list[str]) -> Callable:
    def both(report: FitResult) -> Any:
        texts.append(text(report))
        return document(report)

    return both


def seen_of_labelled(folder: Path, file: File) -> Seen:
    """What softmax learns from: features, class and whether it is used, of every record."""
    (folder / "t.csv").write_bytes(file.content())
    data = read_labelled(folder / "t.csv", "y", LEARNT).prepared
    rows = {
        name: bytes_of(data.features[k], data.labels[k], data.usable[k])
        for k, name in enumerate(file.lines)
        if k < len(data)
    }
    return Seen(
        rows, {"note": data.note, "classes": data.classes, "columns": data.columns, "rest": len(data) - len(rows)}
    )


def seen_of_predictions(folder: Path, file: File) -> Seen:
    (folder / "t.csv").write_bytes(file.content())
    weights = np.random.default_rng(1).standard_normal((2, 7))
    legend = {
        "kind": "softmax", "classes": ["u", "v"], "columns": [c._asdict() for c in COLUMNS], "bias": 0.25,
        "random_features": None,
    }  # fmt: skip
    model = ReleasedModel("x", "id", "last", 0, weights, legend, {}, "")
    frame, _ = model.predicted(folder / "t.csv")
    return _rows(frame.drop(columns="record"), file)


def _rows(frame, file: File) -> Seen:
    rows = {name: repr(row) for name, row in zip(file.lines, frame.to_dict("records"), strict=False)}
    return Seen(rows, {"columns": list(frame.columns), "rest": len(frame) - len(rows)})


def seen_of_means(folder: Path, file: File) -> Seen:
    """What a stored fit predicts for the records of a table."""
    (folder / "t.csv").write_bytes(file.content())
    entries = tuple(entry for column in COLUMNS for entry in entries_of(column))
    units = Units(entries, "y", 1.0, 2.0, True, columns=COLUMNS, response=PublicColumn("y"))
    p = len(units.names)
    release = Release(np.linspace(1, 2, p), np.zeros(p), np.eye(p), np.eye(p), 0.1, np.ones(p))
    inference = Inference(release, release.point, units, 0.95)
    stored = {
        "release": inference.document(),
        "public": {"units": units.document()},
        "level": 0.95,
        "model": "huber-linear",
    }
    return _rows(FitResult(stored, "fit.json").predicted(folder / "t.csv")[0], file)


def seen_of_init(folder: Path, file: File) -> Seen:
    (folder / "t.csv").write_bytes(file.content())
    public = {str(k): init(data=folder / "t.csv", target="y", for_fit=bool(k)) for k in range(2)}
    return Seen({}, public)


class Entry(NamedTuple):
    """Something that reads records, under the relation that its statement names."""

    neighbours: Callable[[], st.SearchStrategy]
    see: Callable[[Path, File], Seen]
    examples: int = 15


FORMULA = {} if find_spec("formulaic") is None else {
    "fit, formula": Entry(replaced, seen_of_fit("--central", "--formula", "y ~ log(age)*C(zone) + age + I(age**2) + ok"))}  # fmt: skip
ENTRIES = {
    "fit, central": Entry(replaced, seen_of_fit("--central")),
    "fit, central, deployment": Entry(replaced, seen_of_fit("--central", deployment=True)),
    "fit, local": Entry(replaced, seen_of_fit()),
    **FORMULA,
    "fit, logistic": Entry(replaced, seen_of_fit("--central", "--model", "mallows-logistic")),
    "fit, person": Entry(person_replaced, seen_of_fit("--central", person=True)),
    "fit, person, local": Entry(person_replaced, seen_of_fit(person=True)),
    "fit, person, deployment": Entry(person_replaced, seen_of_fit("--central", person=True, deployment=True)),
    "softmax, replace-one": Entry(replaced, seen_of_labelled, 30),
    "softmax, add-remove": Entry(removed, seen_of_labelled, 30),
    "predict": Entry(replaced, seen_of_predictions, 30),
    "predict, fit": Entry(replaced, seen_of_means),
    "init": Entry(replaced, seen_of_init, 4),
}


def check(entry: Entry, pair: tuple[File, File, set[str]], folder: Path) -> None:
    """Raises AssertionError where anything but the changed record's own rows differs."""
    one, other = (_seen(entry, folder, file) for file in pair[:2])
    assert one.public == other.public
    names = (one.rows.keys() | other.rows.keys()) - pair[2]
    different = [name for name in names if one.rows.get(name) != other.rows.get(name)]
    assert different == []


def _seen(entry: Entry, folder: Path, file: File) -> Seen:
    try:
        return entry.see(folder, file)
    except DpexpError as error:
        return Seen({}, {"error": str(error)})


def search(entry: Entry, folder: Path, examples: int | None = None) -> None:
    """Tries pairs of neighbouring files."""

    @settings(
        max_examples=examples or entry.examples * (4 if AT_LENGTH else 1), deadline=None, derandomize=True, database=None,
        phases=[Phase.generate], suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
    )  # fmt: skip
    @given(entry.neighbours())
    def tried(pair):
        check(entry, pair, folder)

    tried()


@pytest.mark.parametrize("name", ENTRIES)
def test_a_record_enters_alone(name, tmp_path):
    search(ENTRIES[name], tmp_path)


def everywhere(name, fault):
    """In every module that has this function `fault` makes the faulty one of the right one."""
    modules = [encode_module, labelled_module, records_module, regression_module, fit_command]

    @contextmanager
    def plant():
        with ExitStack() as stack:
            for module in modules:
                if name in vars(module):
                    stack.enter_context(patch.object(module, name, fault(getattr(module, name))))
            yield

    return plant


def of_column(change):
    """Values of a column that are changed by what all of them are."""

    def fault(right):
        def encoded(table, column):
            values, read, _ = right(table, column)
            known = np.isfinite(values)
            return Encoded(change(values, known, column), read) if known.any() else Encoded(values, read)

        return encoded

    return everywhere("encoded", fault)


def numbers_unless_one_is_text(right):
    """The kind of a column follows from its values."""

    def encoded(table, column):
        values, read, _ = right(table, column)
        if column.levels is None and not column.may_miss and not read.all():
            return Encoded(np.zeros(len(values)), np.ones(len(values), dtype=bool))
        return Encoded(values, read)

    return encoded


FAULTS = {
    "centred on the mean": (
        of_column(lambda v, known, c: v - v[known].mean() if c.levels is None else v), "fit, central"),
    "scaled by the largest value": (
        of_column(lambda v, known, c: v / np.abs(v[known]).max().clip(1) if c.levels is None else v), "softmax, replace-one"),
    "cut at a quantile": (
        of_column(lambda v, known, c: np.minimum(v, np.quantile(v[known], 0.9)) if c.levels is None else v), "predict"),
    "missing values filled in with the median": (
        of_column(lambda v, known, c: np.where(np.isnan(v), np.median(v[known]), v)), "softmax, add-remove"),
    "the kind of a column by its values": (everywhere("encoded", numbers_unless_one_is_text), "softmax, replace-one"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault, tmp_path):
    """The check that the right code passes fails with each of these."""
    plant, name = FAULTS[fault]
    with plant(), pytest.raises(AssertionError):
        search(ENTRIES[name], tmp_path, examples=1000)
