"""CSV files: what is read of them, and where a fault is told to be."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from presk.text.diagnostics import PreskError
from presk.train.preparation import Scaling
from presk.train.tables import Table, read_column, read_columns, read_table


def table(folder: Path, text: str) -> Table:
    path = folder / "t.csv"
    path.write_bytes(text.encode())
    return read_table(path)


def test_cells_are_read_by_the_kind_asked_for(tmp_path: Path) -> None:
    found = table(tmp_path, 'a, b ,c,d\n0.1,3,red,true\n"-2e-3",0, blue ,FALSE\n')
    assert read_column(found, "a", "real").values.tolist() == [0.1, -0.002]
    assert read_column(found, "b", "real").values.tolist() == [3.0, 0.0]
    assert read_column(found, "b", "nat").values.tolist() == [3, 0]
    assert read_column(found, "d", "bool").values.tolist() == [True, False]
    labelled = read_column(found, "c", "nat")
    assert labelled.values.tolist() == [1, 0]
    assert labelled.labels == ("blue", "red")
    assert read_columns(found, ["b", "a"], "real").tolist() == [[3.0, 0.1], [0.0, -0.002]]


def test_blank_lines_and_a_byte_order_mark_are_passed_over(tmp_path: Path) -> None:
    found = table(tmp_path, "\ufeffa\n\n1\n\n2\n")
    assert read_column(found, "a", "real").values.tolist() == [1.0, 2.0]
    assert found.lines == [3, 5]


def test_quoted_cells_may_hold_commas_and_line_breaks(tmp_path: Path) -> None:
    found = table(tmp_path, 'a,b\n"x,\ny",1\nz,2\n')
    assert read_column(found, "a", "nat").labels == ("x,\ny", "z")
    assert found.lines == [2, 4]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\n1,2\n3,\n", "line 3 of `{}`, column `b`: the cell is empty"),
        ("a,b\n1,2\n3\n", "line 3 of `{}` has 1 cells, and there are 2 columns"),
        ("a,b\n1,2,3\n", "line 2 of `{}` has 3 cells"),
        ("a,a\n1,2\n", "line 1 of `{}` names a column twice"),
        ("a,\n1,2\n", "line 1 of `{}` names a column twice or not at all"),
        ("", "line 1 of `{}` has no line of names"),
        ('a\n"1\n', "unexpected end of data"),
    ],
)
def test_what_is_no_table_says_where(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(PreskError) as caught:
        table(tmp_path, text)
    assert caught.value.code == "E8073"
    assert says.format(tmp_path / "t.csv") in caught.value.diagnostics[0].message


@pytest.mark.parametrize("cell", ["x", "nan", "inf", "1e999", "1_0", "0x10"])
def test_a_real_is_a_finite_decimal(tmp_path: Path, cell: str) -> None:
    found = table(tmp_path, f"a\n1\n{cell}\n")
    with pytest.raises(PreskError) as caught:
        read_column(found, "a", "real")
    assert caught.value.code == "E8073"
    assert f"line 3 of `{tmp_path / 't.csv'}`, column `a`: `{cell}`" in caught.value.diagnostics[0].message


def test_other_cells_that_are_refused(tmp_path: Path) -> None:
    found = table(tmp_path, "a,b,c\n1,99999999999999999999,maybe\n2,1,true\n")
    for name, kind in (("b", "nat"), ("c", "bool")):
        with pytest.raises(PreskError, match="line 2"):
            read_column(found, name, kind)
    with pytest.raises(PreskError, match="a column of their own"):
        read_columns(found, ["a", "c"], "nat")
    with pytest.raises(PreskError) as caught:
        read_column(found, "bb", "real")
    assert (caught.value.code, caught.value.hint) == ("E8072", "did you mean `b`?")


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a\n\xff\n")
    with pytest.raises(PreskError, match="byte 2 "):
        read_table(tmp_path / "t.csv")
    with pytest.raises(PreskError) as caught:
        read_table(tmp_path / "missing.csv")
    assert caught.value.code == "E8001"


def test_scaling_gives_mean_zero_and_deviation_one() -> None:
    values = np.array([[1e8 + at, at * at / 7, 5.0] for at in range(64)])
    scaling = Scaling.of(values)
    scaled = scaling.apply(values)
    assert abs(math.fsum(scaled[:, 0])) < 1e-12
    assert scaled[:, 1].std() == pytest.approx(1.0)
    assert (scaling.deviation[2], scaled[:, 2].tolist()) == (1.0, [0.0] * 64)
