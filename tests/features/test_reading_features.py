"""Files of features: four formats give the same vectors, and a file that does not fit is refused with a sentence."""

import pickle

import numpy as np
import pytest

from erkle.features.reading import digest, matched, read_features
from erkle.features.table_files import is_feature_file
from erkle.files import FileError
from erkle.npz_files import save_npz

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

NAMES = ["cat", "dog", "bus", "tram"]
F = np.array([[1.5, 2.0], [-0.25, 3.0], [1e-3, 4.0], [7.0, 5.5]])


def csv(path, names=NAMES, vectors=F, header="name,x,y", separator=","):
    rows = [
        separator.join([name, *map(repr, row)]) for name, row in zip(names, np.asarray(vectors).tolist(), strict=True)
    ]
    path.write_text("\n".join([header.replace(",", separator), *rows]) + "\n", encoding="utf-8")
    return path


def npz(path, **arrays):
    np.savez(path, **arrays)
    return path


def table(path, **columns):
    parquet.write_table(pyarrow.table(columns), path)
    return path


def refused(path, *values, **options):
    with pytest.raises(FileError) as caught:
        read_features(path, **options)
    sentence = str(caught.value)
    assert sentence.startswith(path.name)
    assert "\n" not in sentence
    for value in values:
        assert value in sentence


WRITERS = {
    "csv": lambda folder: csv(folder / "size.csv"),
    "tsv": lambda folder: csv(folder / "size.tsv", separator="\t"),
    "semicolons": lambda folder: csv(folder / "size.csv", separator=";"),
    "npz": lambda folder: npz(folder / "any.npz", size=F, names=np.array(NAMES)),
    "float32 and bytes in order of Fortran": lambda folder: npz(
        folder / "any.npz", size=np.asfortranarray(F.astype(np.float32)), labels=np.array(NAMES)
    ),
    "parquet": lambda folder: table(folder / "size.parquet", name=NAMES, x=F[:, 0], y=F[:, 1]),
    "lists in parquet": lambda folder: table(folder / "size.parquet", id=NAMES, vector=F.tolist()),
    "a list of fixed size in parquet": lambda folder: table(
        folder / "size.parquet", name=NAMES, v=pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(F.ravel()), 2)
    ),
    "an index of pandas": lambda folder: table(folder / "size.parquet", x=F[:, 0], y=F[:, 1], __index_level_0__=NAMES),
    "a table of pandas": lambda folder: csv(folder / "size.csv", header=",0,1"),
    "no known name of a column": lambda folder: csv(folder / "size.csv", header="thing,x,y"),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_every_format_gives_the_same_vectors_and_names(kind, tmp_path):
    path = WRITERS[kind](tmp_path)
    found = read_features(path)
    assert (found.file, found.names, list(found.blocks)) == (path.name, NAMES, ["size"])
    assert found.blocks["size"].dtype == np.float64
    np.testing.assert_allclose(found.blocks["size"], F, rtol=1e-6)
    # Three columns without a known header are an answer file.
    assert is_feature_file(path) == (kind != "no known name of a column")


def test_an_array_without_names_is_matched_by_position(tmp_path):
    np.save(tmp_path / "clip.npy", F)
    found = read_features(tmp_path / "clip.npy")
    assert found.names is None
    blocks, without, unknown = matched([found], NAMES)
    assert np.array_equal(blocks["clip"], F)
    assert (without, unknown) == ([], [])
    with pytest.raises(FileError, match=r"clip.npy: has 4 rows .* 3 objects"):
        matched([found], NAMES[:3])


def test_a_name_for_the_block_replaces_that_of_the_file(tmp_path):
    assert list(read_features(csv(tmp_path / "a.csv"), "size").blocks) == ["size"]
    assert list(read_features(npz(tmp_path / "a.npz", x=F), "size").blocks) == ["size"]
    refused(npz(tmp_path / "b.npz", x=F, y=F), "x, y", block="size")


def test_objects_are_matched_by_name_in_any_order(tmp_path):
    found = read_features(csv(tmp_path / "size.csv", ["dog", "ship", "cat", "car"]))
    blocks, without, unknown = matched([found], NAMES)
    assert np.array_equal(blocks["size"][:2], F[[2, 0]])
    assert np.isnan(blocks["size"][2:]).all()
    assert (without, unknown) == (["bus", "tram"], ["ship", "car"])


def test_several_files_describe_an_object_together(tmp_path):
    size = read_features(csv(tmp_path / "size.csv", NAMES[:2], F[:2]))
    clip = read_features(npz(tmp_path / "a.npz", clip=F[:2], names=NAMES[1:3]))
    blocks, without, unknown = matched([size, clip], NAMES)
    assert (list(blocks), without, unknown) == (["size", "clip"], ["tram"], [])
    assert np.isnan(blocks["clip"]).all(axis=1).tolist() == [True, False, False, True]


def test_columns_of_the_same_name_are_all_read(tmp_path):
    columns = [pyarrow.array(NAMES), *map(pyarrow.array, F.T)]
    parquet.write_table(pyarrow.table(columns, names=["name", "x", "x"]), tmp_path / "a.parquet")
    for path in (tmp_path / "a.parquet", csv(tmp_path / "a.csv", header="name,x,x")):
        assert np.array_equal(read_features(path).blocks["a"], F)


def test_an_object_with_an_empty_row_has_no_vector(tmp_path):
    path = tmp_path / "size.csv"
    path.write_text("name,x,y\ncat,1,2\ndog,,NA\nbus,3,4\n")
    found = read_features(path)
    assert np.isnan(found.blocks["size"][1]).all()
    assert matched([found], ["cat", "dog", "bus"])[1] == ["dog"]
    gaps = table(tmp_path / "size.parquet", name=["a", "b"], v=[[1.0, 2.0], None])
    assert np.isnan(read_features(gaps).blocks["size"]).tolist() == [[False, False], [True, True]]


def test_columns_that_name_objects_are_never_numbers(tmp_path):
    path = csv(tmp_path / "size.csv", ["7,cat", "8,dog"], F[:2], "id,name,x,y")
    found = read_features(path)
    assert found.names == ["cat", "dog"]
    assert np.array_equal(found.blocks["size"], F[:2])


def test_names_may_be_numbers_and_letters_of_any_script(tmp_path):
    found = read_features(csv(tmp_path / "size.csv", ["7", "07", "Chișinău", '"a, b"']))
    assert found.names == ["7", "07", "Chișinău", "a, b"]
    assert read_features(table(tmp_path / "a.parquet", id=[3, 1], x=[0.5, 1.0])).names == ["3", "1"]
    assert read_features(npz(tmp_path / "a.npz", x=F[:2], ids=np.array([3, 1]))).names == ["3", "1"]


TEXTS = {
    "empty": ("", ["is empty"]),
    "only a header": ("name,x\n", ["no rows"]),
    "only names": ("name\ncat\ndog\n", ["no column of numbers", "'name'"]),
    "no header": ("cat,1.5,2\ndog,2,3\n", ["line 1", "header"]),
    "text where numbers belong": ("name,x,colour\ncat,1,2\ndog,1,red\n", ["line 3", "'red'", "'colour'"]),
    "a decimal comma": ("name;x\ncat;1,5\n", ["line 2", "'1,5'", "0.5"]),
    "a missing cell": ("name,x,y\ncat,1\n", ["line 2", "2 cells instead of 3"]),
    "no number in part of a row": ("name,x,y\ncat,1,2\ndog,,3\n", ["size of 'dog'", "column 0"]),
    "infinity": ("name,x,y\ncat,1,2\ndog,1,inf\n", ["size of 'dog'", "infinity in column 1"]),
    "an object twice": ("name,x\ncat,1\ndog,2\ncat,3\n", ["'cat' twice"]),
    "no name": ("name,x\ncat,1\n ,2\n", ["row 1", "missing"]),
    "two columns of names": ("name,x,Name\ncat,1,dog\n", ["two columns called name"]),
}


@pytest.mark.parametrize("case", TEXTS)
def test_a_text_that_does_not_fit_is_refused_with_its_line_or_its_object(case, tmp_path):
    text, values = TEXTS[case]
    path = tmp_path / "size.csv"
    path.write_text(text)
    refused(path, *values)


def test_a_text_that_is_not_utf_8_is_refused(tmp_path):
    path = tmp_path / "size.csv"
    path.write_bytes("name,x\nKöln,1\n".encode("latin-1"))
    refused(path, "UTF-8")
    path.write_bytes(bytes(range(256)) * 10)
    refused(path)


class Malicious:
    """A pickle that leaves a file behind if it is ever loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_a_pickle_is_never_loaded(tmp_path):
    trap = tmp_path / "loaded"
    hostile = np.array([[Malicious(trap), 1.0]], dtype=object)
    np.save(tmp_path / "array.npy", hostile, allow_pickle=True)
    np.savez(tmp_path / "numbers.npz", x=hostile)
    np.savez(tmp_path / "names.npz", x=F, names=np.array([Malicious(trap)] * 4, dtype=object))
    for name in ("array.npy", "numbers.npz", "names.npz"):
        refused(tmp_path / name, "Python objects")
    for name in ("bare.npy", "bare.npz", "bare.parquet", "bare.csv"):
        (tmp_path / name).write_bytes(pickle.dumps(Malicious(trap)))
        refused(tmp_path / name)
    assert not trap.exists()


ARRAYS = {
    "one number per object": (np.arange(4.0), ["float64", "(4,)"]),
    "three axes": (np.zeros((4, 2, 2)), ["(4, 2, 2)"]),
    "text": (np.array([["a", "b"]]), ["<U1"]),
    "complex numbers": (F + 1j, ["complex128"]),
    "dates": (F.astype(int).astype("datetime64[s]"), ["datetime64"]),
    "no rows": (np.zeros((0, 3)), ["empty", "(0, 3)"]),
    "no columns": (np.zeros((3, 0)), ["empty", "(3, 0)"]),
    "infinity": (np.array([[1.0, -np.inf], [0.0, 1.0]]), ["row 0", "infinity in column 1"]),
    "a number that no double can hold": (np.array([["1e400", "0"], ["0", "1"]], np.longdouble), ["row 0", "infinity"]),
    "NaN in part of a row": (np.array([[1.0, 0.0], [np.nan, 1.0]]), ["row 1", "no number in column 0"]),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_an_array_that_does_not_fit_is_refused_with_its_kind_or_its_row(case, tmp_path):
    array, values = ARRAYS[case]
    np.save(tmp_path / "a.npy", array)
    refused(tmp_path / "a.npy", *values)
    refused(npz(tmp_path / "a.npz", key=array), "key", *values)


NPZ = {
    "no array": ({"names": np.array(NAMES)}, ["no array of numbers"]),
    "fewer names than rows": ({"clip": F, "names": np.array(NAMES[:3])}, ["clip has 4 rows", "3 names"]),
    "blocks of different lengths": ({"clip": F, "size": F[:3]}, ["size has 3 rows", "clip has 4"]),
    "an object twice": ({"clip": F[:2], "names": np.array(["cat", "cat"])}, ["'cat' twice"]),
    "names that are numbers with decimals": ({"clip": F[:2], "names": np.array([0.5, 1.5])}, ["names", "float64"]),
    "names as bytes": ({"clip": F[:2], "names": np.array([b"a", b"b"])}, ["names", "|S1"]),
}


@pytest.mark.parametrize("case", NPZ)
def test_arrays_that_do_not_fit_together_are_refused(case, tmp_path):
    arrays, values = NPZ[case]
    refused(npz(tmp_path / "a.npz", **arrays), *values)


COLUMNS = {
    "text": ({"name": NAMES[:2], "x": ["1", "b"]}, ["'x'", "string"]),
    "lists of text": ({"name": NAMES[:2], "x": [["a"], ["b"]]}, ["'x'", "string"]),
    "empty lists": (
        {"name": NAMES[:2], "x": pyarrow.array([[], []], pyarrow.list_(pyarrow.float64()))},
        ["'x'", "empty"],
    ),
    "lists of different lengths": ({"name": NAMES[:2], "x": [[1.0], [1.0, 2.0]]}, ["'x'", "different lengths"]),
    "only names": ({"name": NAMES[:2]}, ["'name'"]),
    "no names": ({"x": [0.5, 1.0], "y": [1.0, 2.0]}, ["column of names, x", "double"]),
    "a missing name": ({"name": ["cat", None], "x": [1.0, 2.0]}, ["1 empty cell"]),
    "an object twice": ({"name": ["cat", "cat"], "x": [1.0, 2.0]}, ["'cat' twice"]),
    "infinity": ({"name": NAMES[:2], "x": [1.0, np.inf]}, ["'dog'", "infinity in column 0"]),
    "a gap in a row": ({"name": NAMES[:2], "x": [1.0, 2.0], "y": [None, 1.0]}, ["'cat'", "column 1"]),
    "no rows": ({"name": pyarrow.array([], pyarrow.string()), "x": pyarrow.array([], pyarrow.float64())}, ["empty"]),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_a_parquet_file_that_does_not_fit_is_refused(case, tmp_path):
    columns, values = COLUMNS[case]
    refused(table(tmp_path / "a.parquet", **columns), *values)


@pytest.mark.parametrize("kind", ["npy", "npz", "parquet"])
def test_a_damaged_file_is_refused(kind, tmp_path):
    path = tmp_path / f"a.{kind}"
    np.save(tmp_path / "a.npy", F)
    npz(tmp_path / "a.npz", clip=F, names=np.array(NAMES))
    table(tmp_path / "a.parquet", name=NAMES, x=F[:, 0])
    whole = path.read_bytes()
    for n in (0, 3, 20, len(whole) // 2, len(whole) - 10):
        path.write_bytes(whole[:n])
        refused(path)
    path.unlink()
    refused(path, "no such file")
    path.mkdir()
    refused(path, "folder")


def test_numbers_of_every_type_are_read(tmp_path):
    for dtype in (np.float16, np.int8, np.uint16, np.bool_):
        values = np.array([[1, 0], [0, 1]], dtype)
        np.save(tmp_path / "a.npy", values)
        assert np.array_equal(read_features(tmp_path / "a.npy").blocks["a"], values.astype(float))
        path = table(tmp_path / "a.parquet", name=["a", "b"], x=values[:, 0], y=values[:, 1])
        assert np.array_equal(read_features(path).blocks["a"], values.astype(float))


def test_of_several_arrays_of_names_the_best_one_counts(tmp_path):
    for order in (["names", "ids"], ["ids", "names"]):
        arrays = {"names": np.array(NAMES), "ids": np.arange(4)}
        found = read_features(npz(tmp_path / "a.npz", clip=F, **{key: arrays[key] for key in order}))
        assert (found.names, list(found.blocks)) == (NAMES, ["clip"])


def test_a_file_is_read_whatever_characters_its_name_has(tmp_path):
    for name in ("a\u00a0b.npy", "a\u202eb.npy", "a\nb.npy"):
        np.save(tmp_path / name, F)
        assert list(read_features(tmp_path / name).blocks) == [name.removesuffix(".npy")]
        assert read_features(tmp_path / name).file.isprintable()


def test_names_that_only_look_the_same_are_pointed_out(tmp_path):
    composed, decomposed = "Caf\u00e9", "Cafe\u0301"
    found = read_features(csv(tmp_path / "size.csv", [composed, *NAMES[1:]]))
    with pytest.raises(FileError, match="Unicode"):
        matched([found], [decomposed, "ship"])
    with pytest.raises(FileError, match="use the same names"):
        matched([found], ["ship"])


def test_names_that_match_no_object_are_refused(tmp_path):
    found = read_features(csv(tmp_path / "size.csv", [name.upper() for name in NAMES]))
    with pytest.raises(FileError, match=r"'CAT'.*'cat'"):
        matched([found], NAMES)


def test_two_blocks_of_one_name_are_refused(tmp_path):
    found = read_features(csv(tmp_path / "size.csv"))
    with pytest.raises(FileError, match=r"size.csv: .*called size"):
        matched([found, found], NAMES)


def test_vectors_of_all_objects_in_order_are_not_copied(tmp_path):
    found = read_features(npz(tmp_path / "a.npz", clip=F, names=np.array(NAMES)))
    assert matched([found], NAMES)[0]["clip"] is found.blocks["clip"]


def test_a_digest_changes_with_names_values_and_objects():
    said = digest({"clip": F}, NAMES)
    assert said.startswith("clip (2 columns, ")
    assert said == digest({"clip": np.asfortranarray(F)}, NAMES)
    changed = F.copy()
    changed[0, 0] += 1e-12
    others = [digest({"clip": changed}, NAMES), digest({"clip": F}, NAMES[::-1]), digest({"size": F}, NAMES)]
    assert len({said, *others}) == 4


def test_answers_and_learners_are_no_features(tmp_path):
    save_npz(tmp_path / "kernel.npz", {"K": F}, {"kind": "ERKLE"})
    texts = {
        "a.csv": "anchor,near,far\n1,2,3\n",
        "b.csv": "anchor,near,far,seconds\n1,2,3,0.5\n",
        "c.csv": "cat,dog,bus\ntram,bus,cat\n",
        "d.csv": "1,2,3\n4,5,6\n",
        "e.csv": "target,chosen,other\n4,5,6\n",
        "f.jsonl": '{"anchor": 1, "near": 2, "far": 3}\n{"anchor": 1, "near": 2, "far": 3}\n',
        "g.csv": "object,dog,bus\ntram,bus,cat\n",
        "h.csv": "",
        "i.npz": "no archive",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert not [name for name in ("kernel.npz", "nowhere.csv", *texts) if is_feature_file(tmp_path / name)]
