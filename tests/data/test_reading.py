"""A file is read one record at a time: separators, encodings and quotes, and what a value means in its column."""

import math
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

from dpexp.data.budget_file import read_budgets, read_users
from dpexp.data.dataset import DataError
from dpexp.data.encode import Unread, columns_of, encode, encoded, read_id, unread
from dpexp.data.public_inputs import PublicColumn, PublicInputs, column_of
from dpexp.data.records import read_header, read_record_table
from dpexp.data.regression import Roles, by_person, read_records

ZONE = PublicColumn("zone", levels=("1", "2", "3", "other"))
STRICT = PublicColumn("zone", levels=("1", "2", "3"))
CODES = PublicColumn("zone", levels=("1", "01"))
YES = PublicColumn("ok", levels=("no", "yes"))
TRUE = PublicColumn("ok", levels=("False", "True"))
AGE = PublicColumn("age")
SOME = PublicColumn("age", may_miss=True)
BORN = PublicColumn("born", days=True)


@pytest.mark.parametrize(
    ("text", "column", "wanted"),
    [
        ("2", ZONE, 1), ("02", ZONE, 1), (" 2 ", ZONE, 1), ("2.0", ZONE, 1), ("2.5", ZONE, 3), ("x", ZONE, 3),
        ("1e400", ZONE, 3), ("TRUE", ZONE, 3), ("other", ZONE, 3), ("2,0", ZONE, 3),
        ("01", PublicColumn("c", levels=("01", "1")), 0), ("1", PublicColumn("c", levels=("01", "1")), 1),
        ("TRUE", YES, 1), ("true", TRUE, 1), ("1", TRUE, 1), ("No", YES, 0), ("0", YES, 0), ("TRUE", PublicColumn("c", levels=("0", "1", "other")), 1),
        ("yes", PublicColumn("c", levels=("yes", "no", "nan")), 0), ("nan", PublicColumn("c", levels=("yes", "no", "nan")), 2),
        ("31", AGE, 31), ("-.5e2", AGE, -50), ("TRUE", AGE, 1), ("no", AGE, 0), ("", SOME, math.nan),
        ("1", CODES, 0), ("01", CODES, 1), ("1.0", CODES, 0), ("NA", SOME, math.nan), ("1970-01-02", BORN, 1), ("2000-01-01 12:30", BORN, 10957),
    ],
)  # fmt: skip
def test_a_value_is_read_by_itself(text, column, wanted):
    assert encode(text, column) == pytest.approx(wanted, nan_ok=True)


@pytest.mark.parametrize(
    ("text", "column", "why"),
    [
        ("2.5", STRICT, r"is not among its categories \(1, 2, 3\)"), ("TRUE", STRICT, "not among"), ("", ZONE, "missing"),
        ("maybe", YES, "not among"), ("x", AGE, "is not a number: 'x'"), ("1,5", AGE, "not a number"),
        ("1,000", AGE, "not a number"), ("nan", AGE, "missing"), ("inf", AGE, "not a number"),
        ("1e400", AGE, "infinite"), ("1_0", AGE, "not a number"), ("\u0663", AGE, "not a number"),
        ("no", PublicColumn("c", levels=("1", "2")), "not among"), ("001", CODES, "not among"), ("1.3.2000", BORN, "not a day"), (None, AGE, "its line"),
        (None, ZONE, "its line"), (None, SOME, "its line"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_why(text, column, why):
    with pytest.raises(Unread, match=why):
        encode(text, column)


@pytest.mark.parametrize(
    ("decimal", "thousands", "read", "unread"),
    [
        (".", "", {"1814.19": 1814.19, "-.5": -0.5}, ["1,814.19", "1,5", "1 000"]),
        (".", ",", {"1,814.19": 1814.19, "1814.19": 1814.19, "1,234,567": 1234567}, ["1,23", "1,2345", ",5", "1.5,0"]),
        (",", "", {"1,5": 1.5, "1": 1, ",5": 0.5, "1,5e2": 150}, ["1.5", "1.000,5", "1,000,000"]),
        (",", ".", {"1.000,5": 1000.5, "1000,5": 1000.5}, ["1.5", "1.00.0"]),
        (".", " ", {"1 234": 1234, "1\u202f234.5": 1234.5}, ["1 2", " 1  234"]),
        (".", "'", {"1'234": 1234, "1\u2019234": 1234}, ["1,234"]),
    ],
)
def test_numbers_are_spelled_by_two_public_keys_alone(decimal, thousands, read, unread):
    column = AGE._replace(decimal=decimal, thousands=thousands)
    assert {text: encode(text, column) for text in read} == read
    for text in unread:
        with pytest.raises(Unread):
            encode(text, column)


def test_one_id_however_it_is_spelled():
    for alike in (["7", "07", "7.0", " 7 ", "70e-1"], ["Ann", "ann", "ANN\u00a0"], ["Jos\u00e9", "jose\u0301", "JOS\u00c9"],
                  ["", "NA", "nan"], ["12345678901234567891", "12345678901234567891.0"]):  # fmt: skip
        assert len({read_id(one) for one in alike}) == 1
    assert len({read_id(one) for one in ("7", "70", "-7", "a7", "12345678901234567891", "12345678901234567892")}) == 6


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "head", "separator"),
    [
        ("t.csv", "a,b", ","), ("t.csv", "a;b", ";"), ("t.csv", "a\tb", "\t"), ("t.tsv", "a\tb", "\t"),
        ("t.csv", "a|b", "|"), ("t.csv", "age, years;b", ";"), ("t.csv", '"a;x",b', ","), ("t.tsv", "a,b", "\t"),
    ],
)  # fmt: skip
def test_the_header_alone_says_what_separates(tmp_path, name, head, separator):
    assert read_header(write(tmp_path / name, f"{head}\n1;2;3\n")).separator == separator


def test_lines_are_read_one_by_one(tmp_path):
    """A byte order mark, two encodings, a quote that is left open, a short line, blank lines, both ends of lines."""
    content = "\ufeffname, x\r\nJosé,1\n".encode() + 'Jos\xe9,2\n"Jo,3\n\n"a, b", 4\nonly\n\n'.encode("latin-1")
    table = read_record_table(write(tmp_path / "t.csv", content))
    assert list(table.header.kinds) == ["name", "x"]
    assert list(table.columns["name"]) == ["José", "José", None, "a, b", None]
    assert list(table.columns["x"]) == ["1", "2", None, "4", None]
    assert [table.place(k).rpartition(":")[2] for k in range(len(table))] == ["2", "3", "4", "6", "7"]
    assert encoded(table, PublicColumn("x")).read.tolist() == [True, True, False, True, False]
    assert [table.place(k).rpartition(":")[2] for k in unread(table, [PublicColumn("x")])] == ["4", "7"]


def test_budgets_are_numbers_above_0_or_inf(tmp_path):
    """A wrong one is told with its line."""
    for text, wrong in (("", ""), ("0\n", ":5: "), ("-1\n", ":5: "), ("x\n", ":5: ")):
        table = read_record_table(write(tmp_path / "t.csv", f"mu\n5e-324\n1\ninf\n{text}"))
        with pytest.raises(DataError, match=wrong) if wrong else nullcontext():
            assert read_budgets(table, "mu", PublicInputs()).tolist() == [5e-324, 1, math.inf]


def test_users_may_have_uses_and_groups(tmp_path):
    both = read_users(write(tmp_path / "t.csv", "mu,group,uses\n1,a,2\n.5,b,0\n"))
    assert [part.tolist() for part in both] == [[1, 0.5], [2, 0], ["a", "b"]]
    assert read_users(write(tmp_path / "t.csv", "mu\n1\n"))[1:] == (None, None)


def test_a_schema_says_what_columns_hold(tmp_path):
    frame = pd.DataFrame({
        "n": [1, 2], "x": [0.5, None], "t": [True, False], "s": ["u", None], "d": pd.to_datetime(["2020-01-01"] * 2),
        "c": pd.Categorical(["u", "v"]),
    })  # fmt: skip
    frame.to_parquet(tmp_path / "t.parquet")
    kinds = dict.fromkeys("nx", "number") | {"t": "truth", "s": "text", "d": "day", "c": "text"}
    # a frame has no public schema: what type a column got may be due to one value
    frame_kinds = dict.fromkeys(kinds, "unknown")
    for source, wanted in ((tmp_path / "t.parquet", kinds), (frame, frame_kinds)):
        table = read_record_table(source)
        assert table.header.kinds == wanted
        assert encoded(table, PublicColumn("t", levels=("False", "True"))).values.tolist() == [1, 0]
        assert encoded(table, PublicColumn("n", levels=("1", "2"))).values.tolist() == [0, 1]
        assert encoded(table, PublicColumn("x")).read.tolist() == [True, False]
        assert encoded(table, PublicColumn("x", may_miss=True)).read.tolist() == [True, True]
        assert encoded(table, PublicColumn("s", levels=("u", "w"))).read.tolist() == [True, False]
        assert encoded(table, BORN._replace(name="d")).values.tolist() == [18262] * 2
    pd.DataFrame({"x": [[1], [2]]}).to_parquet(tmp_path / "lists.parquet")
    assert read_header(tmp_path / "lists.parquet").kinds == {"x": "other"}
    pd.DataFrame({"a.b": [1.5], "c": [2]}, index=[7]).to_parquet(tmp_path / "dots.parquet")
    dots = read_record_table(tmp_path / "dots.parquet").columns
    assert {name: list(values) for name, values in dots.items()} == {"a.b": [1.5], "c": ["2"]}
    content = bytearray((tmp_path / "t.parquet").read_bytes())
    content[4:200] = bytes(196)
    (tmp_path / "damaged.parquet").write_bytes(content)
    with pytest.raises(DataError, match="cannot be read"):
        read_record_table(tmp_path / "damaged.parquet")


def test_columns_follow_from_what_is_stated_and_from_the_schema_alone(tmp_path):
    header = read_header(write(tmp_path / "t.csv", "a,b,c\n"))
    public = PublicInputs({"a": (0.0, 1.0)}, {"b": ("u", "v")}, ("a",))
    assert columns_of(header, ["a", "b", "c"], public) == [
        PublicColumn("a", (0, 1), may_miss=True), PublicColumn("b", levels=("u", "v")), PublicColumn("c"),
    ]  # fmt: skip
    assert [column_of(c._asdict()) for c in columns_of(header, ["a", "b", "c"], public)] == columns_of(
        header, ["a", "b", "c"], public
    )
    pd.DataFrame({"s": ["u"], "t": [True]}).to_parquet(tmp_path / "t.parquet")
    header = read_header(tmp_path / "t.parquet")
    assert columns_of(header, ["t"], PublicInputs()) == [PublicColumn("t", levels=("False", "True"))]
    with pytest.raises(DataError, match="s holds texts, and no categories"):
        columns_of(header, ["s", "t"], PublicInputs())


@pytest.mark.parametrize(
    ("name", "content", "unnamed", "lines"),
    [
        ("t.csv", ",a,b\n0,1,x\n1,2,y\n", (1,), [2, 3]), ("t.csv", "a,b,,\n1,x,,\n2,y,,\n,,,\n", (3, 4), [2, 3]),
        ("t.csv", "sep=;\na;b\n1;x\n;\n2;y\n", (), [3, 5]), ("T.CSV", "Unnamed: 0,a,b\n0,1,x\n1,2,y\n", (1,), [2, 3]),
        ("T.TSV", "a\tb\n1\tx\n2\ty\n", (), [2, 3]),
    ],
)  # fmt: skip
def test_what_programs_write_around_a_table(tmp_path, name, content, unnamed, lines):
    """An index without a name, separators at the end of lines and in lines of their own, a line that says what separates."""
    table = read_record_table(write(tmp_path / name, content))
    assert {key: list(values) for key, values in table.columns.items()} == {"a": ["1", "2"], "b": ["x", "y"]}
    assert (table.header.unnamed, table.lines) == (unnamed, lines)
    assert len(table.header.notes) == bool(unnamed)


def test_whatever_holds_columns_is_read_as_its_frame_is():
    pa = pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"x": [1.5, np.nan, 3.0], "g": ["u", "v", None], "n": [1, 2, 3], "t": [True, False, True]})
    sources = [frame, frame.to_dict("list"), pa.table(frame), {name: frame[name].to_numpy() for name in frame}]
    for source in sources:
        table = read_record_table(source)
        assert table.header.kinds == dict.fromkeys("xgnt", "unknown")
        found = [encoded(table, PublicColumn(name, may_miss=True)).values for name in "xnt"]
        assert np.array_equal(found, [[1.5, np.nan, 3], [1, 2, 3], [1, 0, 1]], equal_nan=True)
        assert encoded(table, PublicColumn("g", levels=("v", "u"))).read.tolist() == [True, True, False]
    assert list(read_record_table(np.eye(3)).columns) == ["x[0]", "x[1]", "x[2]"]
    assert list(read_record_table(frame.x).columns) == ["x"]
    assert len(read_record_table(pd.DataFrame({"x": [1, None], "g": ["u", None]}))) == 1
    german = PublicColumn("x", levels=("1", "2"), decimal=",")
    assert encoded(read_record_table(pd.DataFrame({"x": [1.0, 2.0]})), german).read.all()
    for wrong in ([1, 2], 3, None, {"x": [1], "y": [1, 2]}, np.zeros((2, 2, 2))):
        with pytest.raises(DataError):
            read_record_table(wrong)


BASE = {"a": [31, 45, 58], "g": [1, 2, 1], "t": [True, False, True], "d": ["1980-02-03"] * 3, "w": [1.5, -0.0, 0.0],
        "who": [1, 2, 3], "y": [10, 20, 30]}  # fmt: skip
STATED = PublicInputs({"a": (20.0, 70.0), "d": (0.0, 9e3), "y": (0.0, 60.0)}, {"g": ("1", "1.0", "2"), "t": ("no", "yes")}, ("a",), (), ("d",), decimal=",")  # fmt: skip
ODD = {"a": [None, "x", 31.5], "g": [None, 2.0, "01"], "t": [None, 1], "d": [20010101, None], "w": ["x", np.float32(0.1)],
       "who": [None, 7.5, "1e99999999999999999999"], "y": ["x"]}  # fmt: skip


@pytest.mark.parametrize("made", [pd.DataFrame, dict])
@pytest.mark.parametrize(("column", "odd"), [(column, odd) for column in ODD for odd in ODD[column]])
def test_in_memory_the_type_of_a_column_moves_nobody(made, column, odd):
    """One value makes a column of whole numbers one of floats or of objects; all other records enter as they were."""

    def rows(columns):
        table = read_record_table(made(columns))
        records = by_person(table, read_records(table, Roles("y", person="who"), STATED, False), "who")[0]
        return [
            (records.x[own].tobytes(), records.y[own].tobytes()) for own in np.eye(records.n)[:, records.owners] > 0
        ]

    before = rows(BASE)
    for place in range(3):
        after = rows(BASE | {column: [odd if k == place else value for k, value in enumerate(BASE[column])]})
        others = [before[k] for k in range(3) if k != place]
        # a changed id has another place among the persons
        assert set(others) <= set(after) if column == "who" else [after[k] for k in range(3) if k != place] == others


def test_ids_are_refused_where_floats_can_no_longer_tell_them_apart():
    for last, refused in ((2.0**53 - 1, False), (2.0**53, True), (-(2.0**53), True)):
        table = read_record_table({"who": [1.0, 2.0, last], "x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]})
        records = read_records(table, Roles("y", person="who"), PublicInputs(), False)
        with pytest.raises(DataError, match="floats") if refused else nullcontext():
            by_person(table, records, "who")


def test_a_truth_value_is_a_number_where_it_is_the_target_of_a_linear_fit(tmp_path):
    pd.DataFrame({"x": [0.5, 1.0], "y": [True, False]}).to_parquet(tmp_path / "t.parquet")
    records = read_records(read_record_table(tmp_path / "t.parquet"), Roles("y"), PublicInputs(), False)
    assert records.y.tolist() == [1, 0]
    assert not records.units.binary
