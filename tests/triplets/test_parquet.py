"""Parquet and Arrow files give what text gives: the same answers, the same names, the same errors."""

import io
import json
import sys
from contextlib import suppress
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from erkle.files import FileError
from erkle.triplets import Labels, Reader, ReadError, read, sample
from erkle.triplets.arrow import parts
from erkle.triplets.arrow.encoding import Encoder
from erkle.triplets.arrow.formats import PARQUET, SUFFIXES

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
ipc = pytest.importorskip("pyarrow.ipc")

PARTS = ("anchor", "near", "far")
INTEGERS = [getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)]
TEXTS = [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.string_view()]
NUMBERED = pa.dictionary(pa.int16(), pa.int64())
NAMES = st.sampled_from(["cat", "dog", " bus", "Zoë", "a, b", "7", "07", "cat ", "=1"])
ROWS = [["cat", "dog", "bus"], ["bus", "tram", "cat"], ["Zoë", "cat", "17"]]


def table(rows, kind=None, header=PARTS, **more):
    """A table of pyarrow with one row per answer, and further columns."""
    columns = [pa.array(list(cells), kind) for cells in zip(*rows, strict=True)] if rows else [pa.array([], kind)] * 3
    return pa.table([*columns, *(pa.array(cells) for cells in more.values())], names=[*header, *more])


def write(path, found, size=65_536):
    """Write a table in the format that the path says, with row groups or batches of the given size."""
    if path.suffix in PARQUET:
        parquet.write_table(found, path, row_group_size=size)
    else:
        with ipc.new_file(path, found.schema) as file:
            file.write_table(found, max_chunksize=size)
    return path


def outcome(reader):
    """The answers, the names, the further column and the problem, without its place."""
    rows, column, problem = [], [], None
    try:
        for chunk in reader:
            rows += chunk.triplets.tolist()
            column += chunk.column
    except ReadError as error:
        problem = str(error).split(": ", 1)[1]
    return rows, reader.labels.names, column, problem


def in_json(rows, labels=None, **options):
    keys = PARTS if not rows or len(rows[0]) == 3 else (*PARTS, "who")
    lines = [json.dumps(dict(zip(keys, row, strict=True))) for row in rows]
    return Reader(io.BytesIO("\n".join(lines).encode()), labels, **options)


def refused(path, *values, **options):
    """Check that reading fails with one sentence about the file, and return the answers before it."""
    found = []
    with pytest.raises(ReadError) as caught:
        found.extend(Reader(path, **options))
    sentence = str(caught.value)
    assert sentence.startswith(path.name)
    assert sentence.endswith((".", "?"))
    assert "\n" not in sentence
    for value in values:
        assert str(value) in sentence
    return [row for chunk in found for row in chunk.triplets.tolist()]


@given(
    st.lists(st.tuples(NAMES, NAMES, NAMES, NAMES), min_size=1, max_size=12),
    st.lists(st.sampled_from(TEXTS), min_size=3, max_size=3),
    st.sampled_from(SUFFIXES),
    st.integers(1, 5),
    st.integers(1, 5),
)
@settings(max_examples=150)
def test_text_is_read_as_from_json(tmp_path_factory, rows, kinds, suffix, size, batch):
    columns = [pa.array(cells, kind) for cells, kind in zip(zip(*rows, strict=True), [*kinds, None], strict=True)]
    path = write(tmp_path_factory.mktemp("x") / f"a{suffix}", pa.table(columns, names=[*PARTS, "who"]), size)
    for names, frozen in (([], False), (["dog", "bus"], False), (["cat", "dog", "bus", "7"], True)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parts, "BATCH", batch)
            found = outcome(Reader(path, Labels(names), frozen, column="WHO"))
        assert found == outcome(in_json(rows, Labels(names), frozen=frozen, column="who"))


@given(
    st.lists(st.tuples(*3 * [st.integers(-1, 9) | st.sampled_from([60, 127])]), min_size=1, max_size=20),
    st.lists(st.sampled_from([*INTEGERS, NUMBERED]), min_size=3, max_size=3),
    st.sampled_from(SUFFIXES),
    st.integers(1, 5),
    st.integers(1, 5),
)
@example([(0, 1, 2**63), (2**64 - 1, 2**63, 2**63 - 1), (1, 0, 5)], [pa.uint64()] * 3, ".parquet", 2, 3)
@settings(max_examples=150)
def test_whole_numbers_are_read_as_from_json(tmp_path_factory, rows, kinds, suffix, size, batch):
    unsigned = any(pa.types.is_unsigned_integer(kind) for kind in kinds)
    rows = [tuple(abs(value) for value in row) if unsigned else row for row in rows]
    columns = [pa.array(cells, kind) for cells, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
    path = write(tmp_path_factory.mktemp("x") / f"a{suffix}", pa.table(columns, names=PARTS), size)
    for names, frozen in (([], False), (["-1", "9", "8"], False), (["5", "0", "1", "2", "3"], True)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parts, "BATCH", batch)
            patch.setattr("erkle.triplets.arrow.encoding._LARGEST_TABLE", 100)
            found = outcome(Reader(path, Labels(names), frozen))
        assert found == outcome(in_json(rows, Labels(names), frozen=frozen))


@given(st.lists(st.integers(0, 30), max_size=4), st.integers(1, 7), st.sampled_from(SUFFIXES))
def test_a_folder_is_read_as_one_file(tmp_path_factory, cuts, size, suffix):
    T, folder = sample(9, 30, random_state=0), tmp_path_factory.mktemp("answers")
    who = [f"p{i % 4}" for i in range(30)]
    for number, (start, end) in enumerate(pairwise(sorted([0, *cuts, 30]))):
        write(folder / f"part.{number}{suffix}", table(T[start:end].tolist(), pa.int64(), who=who[start:end]), size)
    for name in ("_SUCCESS", "_metadata", ".part.0.crc"):
        (folder / name).write_text("notes of another program")
    whole = write(folder.parent / f"whole-{folder.name}.parquet", table(T.tolist(), who=who))
    with Reader(folder, column="who") as reader:
        chunks = list(reader)
        assert reader.size == 30
    assert [row for chunk in chunks for row in chunk.triplets.tolist()] == read(whole).triplets.tolist()
    assert [cell for chunk in chunks for cell in chunk.column] == who
    assert chunks[-1][1:3] == (30, 30)


def test_files_of_a_folder_follow_each_other_by_number(tmp_path):
    names = [f"part.{number}.parquet" for number in (1, 2, 10, 11)]
    for name in reversed(names):
        write(tmp_path / name, table([[name, "x", "y"]]))
    assert [name for name in read(tmp_path).labels.names if name not in "xy"] == names


def test_a_mixed_folder_of_parquet_and_arrow_is_read(tmp_path):
    write(tmp_path / "1.parquet", table(ROWS[:1]))
    write(tmp_path / "2.feather", table(ROWS[1:], pa.large_string()))
    triplets, labels = read(tmp_path)
    assert labels.decode(triplets).tolist() == ROWS


@pytest.mark.parametrize("header", [("Head", "WINNER", "loser"), ("A", "b", "c"), (" anchor", "near ", "far")])
def test_columns_are_found_by_the_names_that_a_header_has(header, tmp_path):
    found = table(ROWS, header=header, time=[1.5, 2.5, 3.5], tags=[["x"], [], None])
    path = write(tmp_path / "a.parquet", found.select([4, 2, 0, 3, 1]))
    triplets, labels = read(path)
    assert labels.decode(triplets).tolist() == ROWS


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("cells", [["ann", None, " bob"], [7, None, 8], pa.array(["a", "b", "a"]).dictionary_encode()])
def test_a_further_column_may_have_empty_cells(suffix, cells, tmp_path):
    path = write(tmp_path / f"a{suffix}", table(ROWS, who=cells))
    wanted = ["" if cell is None else str(cell).strip() for cell in pa.array(cells).to_pylist()]
    assert [cell for chunk in Reader(path, column="Who") for cell in chunk.column] == wanted
    assert [list(chunk.column) for chunk in Reader(path)] == [[]]


def test_more_participants_than_the_numbers_of_a_dictionary_can_count_are_read(tmp_path):
    who = [f"p{i}" for i in range(127)]
    found = table([["a", "b", "c"]] * 128).append_column(
        "who", pa.array([*who, None]).cast(pa.dictionary(pa.int8(), pa.string()))
    )
    path = write(tmp_path / "a.arrow", found)
    assert [cell for chunk in Reader(path, column="who") for cell in chunk.column] == [*who, ""]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_reading_resumes_after_any_row(suffix, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "BATCH", 7)
    T = sample(9, 100, random_state=1)
    for number in range(4):
        write(tmp_path / f"{number}{suffix}", table(T[25 * number : 25 * (number + 1)].tolist()), 10)
    whole = read(tmp_path)
    for start in range(101):
        with Reader(tmp_path, whole.labels, frozen=True) as reader:
            reader.seek(start, start)
            chunks = list(reader)
        assert [row for chunk in chunks for row in chunk.triplets.tolist()] == whole.triplets[start:].tolist()
        assert [chunk.end_offset for chunk in chunks][-1:] == [100] * (start < 100)
    with pytest.raises(ReadError, match=r"100 rows.* 101"):
        Reader(tmp_path).seek(101, 101)


def test_a_fingerprint_notices_another_file(tmp_path):
    def of(offset):
        return Reader(tmp_path / "a").fingerprint(offset)

    (tmp_path / "a").mkdir()
    T = sample(9, 40, random_state=1).tolist()
    write(tmp_path / "a" / "1.parquet", table(T[:20]))
    write(tmp_path / "a" / "2.parquet", table(T[20:]))
    half, whole = of(20), of(40)
    assert (half, whole) == (of(1), of(21))
    assert half != whole
    write(tmp_path / "a" / "3.parquet", table(T))
    assert (half, whole) == (of(20), of(40))
    write(tmp_path / "a" / "2.parquet", table(T[20:][::-1]))
    assert half == of(20)
    assert whole != of(40)
    (tmp_path / "a" / "1.parquet").rename(tmp_path / "a" / "0.parquet")
    assert half != of(20)
    one = write(tmp_path / "x.parquet", table(T))
    before = Reader(one).fingerprint(40)
    one.rename(tmp_path / "y.parquet")
    assert Reader(tmp_path / "y.parquet").fingerprint(40) == before


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize(
    ("row", "values"),
    [
        (["cat", None, "bus"], ["near", "null", "'near'"]),
        (["cat", "", "bus"], ["near", "''"]),
        (["cat", "dog", " NaN "], ["far", "'NaN'"]),
        (["-3", "dog", "bus"], ["anchor", "'-3'"]),
        (["cat", "cat ", "bus"], ["anchor", "near", "'cat'"]),
        (["new", "dog", "new"], ["anchor", "far", "'new'"]),
        (["cat", "d\ng", "bus"], ["near", r"'d\ng'"]),
        ([3, -17, 5], ["near", "'-17'"]),
        ([3, None, 5], ["near", "null"]),
        ([3, 5, 5], ["near", "far", "'5'"]),
    ],
)
def test_a_wrong_row_is_named_after_all_answers_before_it(suffix, row, values, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "BATCH", 4)
    good = [[1, 2, 3]] * 6 if isinstance(row[0], int) else [["cat", "dog", "bus"]] * 6
    path = write(tmp_path / f"a{suffix}", table([*good, row, [*row[:2], None]]))
    assert refused(path, "row 6", *values) == [[0, 1, 2]] * 6
    (tmp_path / "parts").mkdir()
    write(tmp_path / "parts" / f"1{suffix}", table(good))
    path = write(tmp_path / "parts" / f"2{suffix}", table([*good, row]))
    assert refused(tmp_path / "parts", f"2{suffix}, row 6", *values) == [[0, 1, 2]] * 12


def test_a_null_in_a_dictionary_is_a_missing_object(tmp_path):
    near = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["dog", None]))
    found = pa.table([pa.array(["cat"] * 2), near, pa.array(["bus"] * 2)], names=PARTS)
    assert refused(write(tmp_path / "a.arrow", found), "row 1", "near", "null") == [[0, 1, 2]]


def test_unknown_objects_are_refused_if_the_names_are_frozen(tmp_path):
    labels = Labels(["1", "2", "3"])
    path = write(tmp_path / "a.parquet", table([[1, 2, 3], [3, 1, 22]]))
    assert refused(path, "row 1", "'22'", "3 objects", "'2'", labels=labels, frozen=True) == [[0, 1, 2]]
    assert labels.names == ["1", "2", "3"]


TYPES = {
    "float": pa.array([0.0, 1.0]),
    "bool": pa.array([True, False]),
    "list<": pa.array([["a"], ["b"]]),
    "timestamp": pa.array([0, 1], pa.timestamp("s")),
    "decimal": pa.array([1, 2], pa.decimal128(3)),
    "binary": pa.array([b"a", b"b"]),
    "null": pa.nulls(2),
    "struct": pa.array([{"x": "a"}, {"x": "b"}]),
}


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("kind", TYPES)
def test_a_column_that_cannot_name_objects_is_refused(kind, suffix, tmp_path):
    found = pa.table([pa.array(["x", "y"]), TYPES[kind], pa.array(["u", "v"])], names=PARTS)
    values = ("'near'", "double" if kind == "float" else kind)
    refused(write(tmp_path / f"a{suffix}", found), *values)
    ours = table([["x", "y", "z"]] * 2).append_column("who", TYPES[kind])
    refused(write(tmp_path / f"b{suffix}", ours), "'who'", values[1], column="who")
    assert len(read(tmp_path / f"b{suffix}").triplets) == 2


def test_missing_and_ambiguous_columns_are_refused(tmp_path):
    refused(write(tmp_path / "a.parquet", table(ROWS, header=("anchor", "near", "other"))), "'other'", "anchor, near")
    refused(write(tmp_path / "b.parquet", table(ROWS, Near=["x", "y", "z"])), "near")
    good = write(tmp_path / "c.parquet", table(ROWS, who=["x", "y", "z"]))
    refused(good, "'by'", "'who'", column="by")
    refused(good, "'NEAR'", column="NEAR")


def test_files_of_a_folder_that_disagree_are_refused(tmp_path):
    write(tmp_path / "1.parquet", table(ROWS))
    write(tmp_path / "2.parquet", table([[1, 2, 3]]))
    refused(tmp_path, "2.parquet", "1.parquet", "anchor (whole numbers)", "anchor (text)")
    write(tmp_path / "2.parquet", table(ROWS, header=("head", "winner", "loser")))
    refused(tmp_path, "2.parquet", "winner", "near")
    write(tmp_path / "2.parquet", table(ROWS, who=[1, 2, 3]))
    refused(tmp_path, "1.parquet", "'who'", column="who")
    # A file without rows often has other types, because whoever wrote it did not know them.
    write(tmp_path / "2.parquet", pa.table([pa.nulls(0)] * 3, names=PARTS))
    assert len(read(tmp_path).triplets) == 3


def test_a_folder_without_answers_or_with_other_files_is_refused(tmp_path):
    refused(tmp_path, "folder")
    (tmp_path / "_SUCCESS").touch()
    refused(tmp_path, "folder")
    write(tmp_path / "1.parquet", table([], pa.string()))
    refused(tmp_path, "no answers", "folder")
    write(tmp_path / "2.parquet", table(ROWS))
    (tmp_path / "notes.txt").write_text("cat,dog,bus\n")
    refused(tmp_path, "folder", "'notes.txt'")
    (tmp_path / "notes.txt").unlink()
    (tmp_path / "more.parquet").mkdir()
    refused(tmp_path, "folder", "'more.parquet'")
    (tmp_path / "more.parquet").rename(tmp_path / "_more")
    assert len(read(tmp_path).triplets) == 3


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_without_rows_is_refused(suffix, tmp_path):
    refused(write(tmp_path / f"a{suffix}", table([], pa.string())), "no answers")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_damaged_file_is_refused(suffix, tmp_path):
    path = write(tmp_path / f"a{suffix}", table(ROWS))
    whole = path.read_bytes()
    for content in (
        b"",
        whole[:3],
        whole[:20],
        whole[: len(whole) // 2],
        whole[:-10],
        whole[10:],
        b"anchor,near,far\n",
    ):
        path.write_bytes(content)
        assert refused(path) == []
    path.unlink()
    with pytest.raises(FileError, match=f"^a{suffix}: .*no such file"):
        Reader(path)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
def test_flipped_bits_are_refused_or_change_answers_but_never_crash(suffix, kind, tmp_path):
    rows = [[str(cell) if kind == pa.string() else cell for cell in row] for row in sample(9, 50, 0).tolist()]
    path = write(tmp_path / f"a{suffix}", table(rows, kind), 20)
    whole = path.read_bytes()
    for at in range(0, len(whole), 5):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        with suppress(ReadError):
            assert read(path).triplets.shape[1] == 3


def test_a_wrong_checksum_is_refused(tmp_path):
    T = sample(200, 5000, 0).tolist()
    path = tmp_path / "a.parquet"
    parquet.write_table(table(T), path, write_page_checksum=True, compression="none", use_dictionary=False)
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    refused(path, "damaged")


def test_text_that_is_not_utf_8_is_refused(tmp_path):
    near = pa.array([b"dog", b"d\xffg"]).view(pa.string())
    found = pa.table([pa.array(["cat"] * 2), near, pa.array(["bus"] * 2)], names=PARTS)
    for suffix in (".parquet", ".arrow"):
        refused(write(tmp_path / f"a{suffix}", found), "damaged")


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_a_file_that_changes_or_vanishes_while_it_is_read_is_refused(suffix, tmp_path):
    write(tmp_path / f"1{suffix}", table(ROWS))
    write(tmp_path / f"2{suffix}", table(ROWS))
    chunks = iter(Reader(tmp_path))
    next(chunks)
    write(tmp_path / f"2{suffix}", table(ROWS[:2]))
    with pytest.raises(ReadError, match=f"2{suffix}: has changed"):
        next(chunks)
    chunks = iter(Reader(tmp_path))
    next(chunks)
    (tmp_path / f"2{suffix}").unlink()
    with pytest.raises(FileError, match=f"2{suffix}: .*no such file"):
        next(chunks)


def test_a_table_that_is_read_as_text_is_refused_with_a_hint(tmp_path):
    for suffix in (".parquet", ".arrow"):
        path = write(tmp_path / f"a{suffix}", table(ROWS))
        with path.open("rb") as source, pytest.raises(ReadError, match=r"Parquet.*\.parquet"):
            list(Reader(source))
        path.rename(tmp_path / "a.csv")
        refused(tmp_path / "a.csv", ".parquet")
    (tmp_path / "a.csv").write_text("PAR1,PAR2,PAR3\n")
    assert read(tmp_path / "a.csv").labels.names == ["PAR1", "PAR2", "PAR3"]


def test_a_missing_pyarrow_is_named_with_the_command_that_installs_it(tmp_path, monkeypatch):
    path = write(tmp_path / "a.parquet", table(ROWS))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"^a.parquet: .*pip install 'erkle\[parquet\]'$"):
        Reader(path)


def test_a_reader_iterates_once(tmp_path):
    reader = Reader(write(tmp_path / "a.parquet", table(ROWS)))
    assert len(list(reader)) == 1
    with pytest.raises(ReadError, match="new Reader"):
        list(reader)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_memory_does_not_grow_with_the_file(suffix, tmp_path):
    T = sample(1000, 1_000_000, 0)
    rows = pa.table([pa.array(column) for column in T.T], names=PARTS)
    # One row group, but several batches: those of Arrow are read as a whole.
    path = write(tmp_path / f"a{suffix}", rows, 1_000_000 if suffix == ".parquet" else 65_536)
    del rows
    before = pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() - before for _ in Reader(path)]
    assert len(held) > 10
    assert max(held) < 8e6 < T.nbytes / 2


def test_known_numbers_are_looked_up_without_their_names(monkeypatch):
    labels = Labels()
    encoder = Encoder(labels, False)
    columns = [pa.array(column) for column in sample(50, 1000, 0).T]
    first = encoder.encode(columns)
    monkeypatch.setattr("erkle.triplets.arrow.encoding._coded", None)
    assert np.array_equal(encoder.encode(columns), first)
