"""Tests with the published data sets, if ERKLE_DATA or a shared folder has them."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from erkle import conflicts, triplets
from erkle.datasets import CATALOGUE, load

HOME = Path(os.environ.get("ERKLE_DATA") or Path(__file__).parents[3] / "shared" / "datasets")
NAMES = [name for name in CATALOGUE if (HOME / name / "triplets.csv").exists()]

pytestmark = pytest.mark.skipif(not NAMES, reason="no published data is available")


@pytest.fixture(scope="module")
def published():
    """All data sets, read once. A warning about answers that differ from the published ones is an error in tests."""
    return {name: load(name, HOME) for name in NAMES}


def tables(name, folder):
    """A folder with only the tables of a data set."""
    (folder / name).mkdir(parents=True)
    for path in (HOME / name).glob("*.csv"):
        shutil.copy(path, folder / name)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_counts_equal_the_published_ones(name, published):
    dataset = published[name]
    assert len(dataset.triplets) == CATALOGUE[name].n_triplets
    assert len(dataset.names) == CATALOGUE[name].n_objects
    assert all(len(values) == len(dataset.triplets) for values in dataset.columns.values())
    triplets.check(dataset.triplets, len(dataset.names))


@pytest.mark.parametrize(
    ("name", "n_duplicates", "n_conflicting", "n_questions"),
    [("aset400", 5607, 2957, 802), ("eggs300", 30, None, 9), ("cars60", 1042, None, 242), ("food100", 0, None, 9349)],
)
def test_repeats_and_conflicts_equal_the_known_counts(name, n_duplicates, n_conflicting, n_questions, published):
    if name not in published:
        pytest.skip(f"{name} is not available")
    T = published[name].triplets
    conflicting = conflicts.contradicted(T)
    assert triplets.duplicates(T).sum() == n_duplicates
    assert n_conflicting in (None, conflicting.sum())
    assert len(np.unique(triplets.question_keys(T[conflicting]))) == n_questions


@pytest.mark.parametrize("name", [name for name in NAMES if name in ("aset400", "aset400_vdm", "cars60")])
def test_published_files_and_tables_give_the_same_data_set(name, published, tmp_path):
    files = tmp_path / "files" / name
    shutil.copytree(HOME / name / "original", files)
    if name == "aset400_vdm":
        shutil.copy(HOME / "aset400" / "original" / "cblearn_musician_names.txt", files)
    from_files, from_tables = load(name, tmp_path / "files"), load(name, tables(name, tmp_path / "tables"))
    for dataset in (from_files, from_tables):
        np.testing.assert_array_equal(dataset.triplets, published[name].triplets)
    assert from_tables.names == published[name].names
    assert all(map(str.startswith, from_tables.names, from_files.names))
    for column in set(from_files.columns) & set(from_tables.columns):
        np.testing.assert_array_equal(from_files.columns[column], from_tables.columns[column])


def write_food(dataset, folder):
    rows = np.random.default_rng(0).permutation(dataset.triplets)
    lines = ["; ".join(dataset.names[i] for i in row) for row in [*rows.tolist(), *rows[:100].tolist()]]
    (folder / "all-triplets.csv").write_text("\n".join(lines))


def write_eggs(dataset, folder):
    columns = zip(*(dataset.columns[name].tolist() for name in ("participant", "set", "algorithm")), strict=True)
    lines = ["Participant.ID,Timestamp,Center,Left,Right,Answer,Response.Time..s.,Alg.Label,origTime,origAlg.Label"]
    for i, (row, (participant, label, algorithm)) in enumerate(zip(dataset.triplets.tolist(), columns, strict=True)):
        a, b, c = (dataset.names[j] for j in row)
        shown = f"{b},{c}" if i % 3 else f"{c},{b}"
        lines.append(f"{participant},2001-01-01,{a},{shown},{b},900,{label},31:28.0,{algorithm}")
    (folder / "responses.csv").write_text("\r\n".join(lines))


def write_shoes(dataset, folder):
    np.savetxt(folder / "deconflicted_triplets.csv", dataset.triplets, fmt="%d", delimiter=",")


@pytest.mark.parametrize(
    ("name", "write"), [("food100", write_food), ("eggs300", write_eggs), ("zappos85", write_shoes)]
)
@pytest.mark.filterwarnings(r"ignore:.*download the files again:UserWarning")
def test_answers_written_in_the_published_format_are_read_back_unchanged(name, write, published, tmp_path):
    if name not in published:
        pytest.skip(f"{name} is not available")
    # A tenth of the answers still names every object.
    expected = published[name].rows(np.arange(0, len(published[name].triplets), 10))
    (tmp_path / name).mkdir()
    write(expected, tmp_path / name)
    dataset = load(name, tmp_path)
    np.testing.assert_array_equal(dataset.triplets, expected.triplets)
    assert dataset.names == expected.names
    assert {key: values.tolist() for key, values in dataset.columns.items()} == {
        key: values.tolist() for key, values in expected.columns.items()
    }


@pytest.mark.skipif("aset400" not in NAMES, reason="aset400 is not available")
def test_aset400_has_16385_answers_about_400_of_412_artists_as_in_the_paper(published, tmp_path):
    for home in (HOME, tables("aset400", tmp_path)):
        whole = load("aset400", home, all_rows=True)
        assert whole.triplets.shape == (16_385, 3)
        assert len(whole.names) == 412
        assert len(np.unique(whole.triplets)) == 400
        a, b, c = whole.triplets.T
        assert [(a == b).sum(), (a == c).sum(), (b == c).sum()] == [50, 4, 0]
        assert len(np.unique(whole.columns["judgement"])) == 7249
        assert len(np.unique(whole.columns["participant"])) == 541


@pytest.mark.skipif("aset400_vdm" not in NAMES, reason="aset400_vdm is not available")
def test_aset400_vdm_is_a_subset_of_aset400_without_conflicts(published):
    assert load("aset400_vdm", HOME, all_rows=True).triplets.shape == (9107, 3)
    T = published["aset400_vdm"].triplets
    assert not conflicts.contradicted(T).any()
    if "aset400" in published:
        assert set(map(tuple, T.tolist())) <= set(map(tuple, published["aset400"].triplets.tolist()))
        assert published["aset400_vdm"].names == published["aset400"].names
