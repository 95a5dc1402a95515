"""`erkle place`: new objects get a place from their features, and what does not match is refused."""

import numpy as np
import pytest

from commands import answers_of, listing, table
from erkle import ERKLE

N = 20
X = np.random.default_rng(0).standard_normal((N, 5))
NAMES = [f"object {i}" for i in range(N)]
NEW = np.vstack([X[3] + 0.01, X[7] - 0.01, X[11]])


def npz(path, **arrays):
    np.savez(path, **arrays)
    return path


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """A learner of 20 objects that knows their coordinates."""
    path = tmp_path_factory.mktemp("kernel") / "kernel.npz"
    ERKLE(N, random_state=0, features={"truth": X}).fit(answers_of(N, 600)).save(path, labels=NAMES)
    return path


@pytest.fixture(scope="module")
def two_blocks(tmp_path_factory):
    """A learner that knows them in two blocks, left and right."""
    path = tmp_path_factory.mktemp("kernel") / "kernel.npz"
    blocks = {"left": X[:, :2], "right": X[:, 2:]}
    ERKLE(N, random_state=0, features=blocks).fit(answers_of(N, 600)).save(path, labels=NAMES)
    return path


def test_new_objects_are_placed_as_the_library_places_them(erkle, kernel, tmp_path):
    new = npz(tmp_path / "new.npz", anything=NEW, names=np.array(["a", "b", "object 11"]))
    run = erkle("place", kernel, "--features", new, "--out", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    assert listing(tmp_path / "out") == ["placed.csv"]
    rows = table(tmp_path / "out" / "placed.csv")
    assert [row["object"] for row in rows] == ["a", "b", "object 11"]
    assert [row["known"] for row in rows] == ["no", "no", "yes"]
    learner = ERKLE.load(kernel)
    expected = learner.place({"truth": NEW})
    assert np.allclose([[float(row["x"]), float(row["y"])] for row in rows], expected[:, :2])
    squared = ((expected[:, None] - learner.embedding()[None]) ** 2).sum(axis=2) + learner.shifts_
    squared[2, 11] = np.inf
    for row, distances in zip(rows, squared, strict=True):
        nearest = [row[f"nearest_{i}"] for i in range(1, 6)]
        assert nearest == [NAMES[i] for i in np.argsort(distances)[:5]]
    assert rows[0]["nearest_1"] == "object 3"
    said = " ".join((run.stdout + run.stderr).split())
    assert "1 object is known to the learner and has a place from answers too: object 11" in said
    assert "object 3" in run.stdout
    assert str(learner.features_[0]) in said
    assert "Placed 3 objects" in said


def test_more_coordinates_than_the_kernel_has_are_zero(erkle, kernel, tmp_path):
    new = npz(tmp_path / "new.npz", truth=NEW, names=np.array(["a", "b", "c"]))
    command = ["place", kernel, "--features", new, "--out", tmp_path / "out", "--dimensions"]
    assert erkle(*command, 300).returncode == 0
    [row, *_] = table(tmp_path / "out" / "placed.csv")
    assert float(row["x300"]) == 0.0
    for odd in (0, 10**12):
        run = erkle(*command, odd)
        assert run.returncode == 2
        assert f"--dimensions is {odd}" in run.stderr


def test_an_array_without_names_needs_a_list_of_the_new_objects(erkle, kernel, tmp_path):
    np.save(tmp_path / "new.npy", NEW)
    command = ["place", kernel, "--features", tmp_path / "new.npy", "--out", tmp_path / "out"]
    run = erkle(*command)
    assert run.returncode == 2
    assert "--objects" in run.stderr
    (tmp_path / "new.txt").write_text("a\nb\nc\n")
    assert erkle(*command, "--objects", tmp_path / "new.txt").returncode == 0
    assert [row["object"] for row in table(tmp_path / "out" / "placed.csv")] == ["a", "b", "c"]


def test_blocks_come_from_several_files_and_an_object_may_lack_one(erkle, two_blocks, tmp_path):
    left = npz(tmp_path / "one.npz", v=NEW[:, :2], names=np.array(["a", "b", "c"]))
    vectors = NEW[:, 2:].copy()
    vectors[1] = np.nan
    right = npz(tmp_path / "other.npz", v=vectors, names=np.array(["a", "d", "e"]))
    options = ["--features", f"left={left}", "--features", f"right={right}"]
    run = erkle("place", two_blocks, *options, "--out", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    assert [row["object"] for row in table(tmp_path / "out" / "placed.csv")] == ["a", "b", "c", "e"]
    assert "1 object has no features: d; not placed" in " ".join(run.stderr.split())


def test_an_object_that_is_as_the_mean_of_all_is_placed_in_the_middle(erkle, tmp_path):
    mirrored = np.vstack([X[:6], -X[:6]])
    learner = ERKLE(12, random_state=0, features=mirrored).fit(answers_of(12, 60))
    learner.save(tmp_path / "kernel.npz", labels=NAMES[:12])
    middle = npz(tmp_path / "new.npz", v=np.zeros((1, 5)), names=np.array(["middle"]))
    run = erkle("place", tmp_path / "kernel.npz", "--features", middle, "--out", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    [row] = table(tmp_path / "out" / "placed.csv")
    assert abs(float(row["x"])) < 1e-9


def test_features_that_turned_out_to_predict_nothing_place_nothing(erkle, tmp_path):
    noise = np.random.default_rng(5).standard_normal((N, 40))
    learner = ERKLE(N, random_state=0, features=noise).fit(answers_of(N, 6000))
    assert not learner.feature_map_["features"].any()
    learner.save(tmp_path / "kernel.npz", labels=NAMES)
    new = npz(tmp_path / "new.npz", v=noise[:1], names=np.array(["a"]))
    run = erkle("place", tmp_path / "kernel.npz", "--features", new, "--out", tmp_path / "out")
    assert run.returncode == 2
    assert "predict nothing" in run.stderr
    assert not (tmp_path / "out").exists()


def test_features_of_objects_that_are_not_listed_are_ignored_with_a_sentence(erkle, kernel, tmp_path):
    new = npz(tmp_path / "new.npz", truth=NEW, names=np.array(["a", "b", "c"]))
    (tmp_path / "new.txt").write_text("a\n")
    run = erkle("place", kernel, "--features", new, "--objects", tmp_path / "new.txt", "--out", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    assert [row["object"] for row in table(tmp_path / "out" / "placed.csv")] == ["a"]
    said = " ".join(run.stderr.split())
    assert "2 names in the files of features are not among the objects of" in said
    assert "b and c; ignored" in said


def refusals(kernel, two_blocks, tmp_path):
    """Arguments, and what the sentence about them says."""
    names = np.array(["a", "b", "c"])
    new = npz(tmp_path / "new.npz", v=NEW, names=names)
    left = f"left={npz(tmp_path / 'left.npz', v=NEW[:, :2], names=names)}"
    ERKLE(N, random_state=0).fit(answers_of(N, 60)).save(tmp_path / "plain.npz", labels=NAMES)
    ERKLE(N, random_state=0, features=X).fit(answers_of(N, 60)).save(tmp_path / "nameless.npz")
    narrow = npz(tmp_path / "narrow.npz", v=NEW[:, :3], names=names)
    yield [tmp_path / "nowhere.npz", "--features", new], ["nowhere.npz"]
    yield [new, "--features", new], ["new.npz"]
    yield [tmp_path / "plain.npz", "--features", new], ["plain.npz", "without features"]
    yield [tmp_path / "nameless.npz", "--features", new], ["nameless.npz", "names"]
    yield [kernel, "--features", tmp_path / "none.csv"], ["none.csv"]
    yield [kernel, "--features", narrow], ["truth", "3 columns", "5"]
    yield [kernel, "--features", new, "--features", left], ["no features v"]
    yield [two_blocks, "--features", left], ["right is missing", "--features right=FILE"]
    yield [two_blocks, "--features", left, "--features", f"middle={new}"], ["no features middle", "left and right"]
    yield [two_blocks, "--features", left, "--features", left], ["two blocks", "left"]
    far = npz(tmp_path / "far.npz", v=1e12 * NEW, names=names)
    yield [kernel, "--features", far], ["truth", "row 0", "times as long"]
    empty = npz(tmp_path / "empty.npz", v=np.full((3, 5), np.nan), names=names)
    yield [kernel, "--features", empty], ["No object has features"]


def test_what_does_not_match_is_refused_in_a_sentence(erkle, kernel, two_blocks, tmp_path):
    for arguments, values in refusals(kernel, two_blocks, tmp_path):
        run = erkle("place", *arguments, "--out", tmp_path / "out")
        assert run.returncode == 2, arguments
        sentence = run.stderr.strip().splitlines()[-1]
        assert sentence.startswith("erkle: ")
        assert all(value in sentence for value in values), (arguments, sentence)
        assert not (tmp_path / "out").exists()
