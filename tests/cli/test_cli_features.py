"""`erkle learn --features`, `erkle info` about features, and the sentences about what does not match."""

import json
import sys

import numpy as np
import pytest

from commands import answers_of, killed, learned, lines, listing, table, write
from erkle import ERKLE, triplets
from erkle.cli.learn.settings import kernel_from_options
from erkle.online.saving import pack
from erkle.triplets import Labels

pytestmark = pytest.mark.usefixtures("without_pictures")

N = 12
# The coordinates that `answers_of` compares.
X = np.random.default_rng(0).standard_normal((N, 5))
NAMES = [f"object {i}" for i in range(N)]


def features(path, names=NAMES, vectors=X):
    rows = (",".join([name, *map(repr, row)]) for name, row in zip(names, vectors.tolist(), strict=True))
    path.write_text("\n".join(["name," + ",".join(f"x{i}" for i in range(vectors.shape[1])), *rows]) + "\n")
    return path


@pytest.fixture
def study(tmp_path):
    """An answer file about 12 objects, and a file with the true coordinates of all of them."""
    return write(tmp_path / "answers.csv", answers_of(N, 400)), features(tmp_path / "truth.csv")


def test_features_are_learned_as_the_library_learns_them(erkle, study, tmp_path):
    answers, truth = study
    run = erkle("learn", answers, "--features", truth, "--holdout", 0.2, "--out", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    labels = Labels(NAMES)
    T = triplets.read(answers, labels).triplets
    expected = ERKLE(N, random_state=0, features={"truth": X}).fit(triplets.split(T, 0.2, random_state=0)[0])
    expected.consolidate()
    assert np.array_equal(learned(tmp_path / "out").kernel_matrix(), expected.kernel_matrix())
    assert [row["object"] for row in table(tmp_path / "out" / "embedding.csv")] == NAMES
    [worth] = expected.features_
    assert f"Features: {worth}" in " ".join(run.stderr.split())
    [said] = json.loads((tmp_path / "out" / "summary.json").read_text(), parse_constant=pytest.fail)["features"]
    assert (said["name"], said["n_objects"], said["verdict"]) == ("truth", N, worth.verdict)
    assert said["error_with"] == worth.error_with


def test_without_features_the_summary_says_so(erkle, study, tmp_path):
    assert erkle("learn", study[0], "--out", tmp_path / "out").returncode == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["features"], summary["settings"]["features"]) == ([], None)


def test_true_coordinates_are_worth_many_answers(erkle, tmp_path):
    answers = write(tmp_path / "few.csv", answers_of(N, 60))
    test = triplets.sample(N, 2000, 9)
    near, far = (np.linalg.norm(X[test[:, 0]] - X[test[:, i]], axis=1) for i in (1, 2))
    write(tmp_path / "test.csv", triplets.orient(test, near < far))
    errors = {}
    for name, options in {"with": ["--features", features(tmp_path / "truth.csv")], "without": []}.items():
        out = tmp_path / name
        assert erkle("learn", answers, *options, "--test", tmp_path / "test.csv", "--out", out).returncode == 0
        errors[name] = json.loads((out / "summary.json").read_text())["test_error"]
    assert errors["with"] < errors["without"] - 0.05


def test_objects_that_only_answers_name_have_no_features(erkle, study, tmp_path):
    some = features(tmp_path / "some.csv", NAMES[:7], X[:7])
    run = erkle("learn", study[0], "--features", some, "--out", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    said = " ".join(run.stderr.split())
    names = [row["object"] for row in table(tmp_path / "out" / "embedding.csv")]
    assert names[:7] == NAMES[:7]
    assert sorted(names) == sorted(NAMES)
    assert f"5 of 12 objects have no features, among them {', '.join(names[7:9])} and {names[9]}" in said
    known = learned(tmp_path / "out").features.known[:, 0]
    assert known.tolist() == [True] * 7 + [False] * 5


def test_objects_that_no_answer_names_are_placed_by_their_features(erkle, study, tmp_path):
    more = features(tmp_path / "more.csv", [*NAMES, "a new object"], np.vstack([X, X[3]]))
    run = erkle("learn", study[0], "--features", more, "--out", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    assert "1 of 13 objects occurs in no learned answer; its place on the map (grey) comes from features alone" in (
        " ".join(run.stderr.split())
    )
    places = learned(tmp_path / "out").embedding()
    distances = np.linalg.norm(places[:12] - places[12], axis=1)
    assert distances.argmin() == 3


def test_a_list_of_objects_decides_which_features_count(erkle, study, tmp_path):
    (tmp_path / "objects.txt").write_text("".join(f"{name}\n" for name in NAMES))
    more = features(tmp_path / "more.csv", ["p", "q", *NAMES[:10], "r", "s"], np.vstack([X, X[:2]]))
    command = ["learn", study[0], "--features", more, "--objects", tmp_path / "objects.txt"]
    run = erkle(*command, "--out", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    said = " ".join(run.stderr.split())
    assert "4 names in the files of features are not among the objects of" in said
    assert "among them p, q and r; ignored" in said
    assert "2 of 12 objects have no features: object 10 and object 11" in said
    assert learned(tmp_path / "out").n_objects_ == N


def test_features_may_use_the_names_or_the_ids_of_a_list(erkle, tmp_path):
    (tmp_path / "objects.csv").write_text("id,name\n0,cat\n1,dog\n2,bus\n3,tram\n")
    (tmp_path / "answers.csv").write_text("0,1,2\n2,3,0\n1,0,3\n")
    kernels = []
    for names in ("0123", ["cat", "dog", "bus", "tram"]):
        path = features(tmp_path / "size.csv", names, X[:4])
        command = ["--objects", tmp_path / "objects.csv", "--features", path, "--out", tmp_path / "out"]
        assert erkle("learn", tmp_path / "answers.csv", *command).returncode == 0
        kernels.append(learned(tmp_path / "out").kernel_matrix())
    assert np.array_equal(*kernels)


def test_an_array_without_names_needs_a_list_of_objects(erkle, study, tmp_path):
    np.save(tmp_path / "truth.npy", X)
    command = ["learn", study[0], "--features", tmp_path / "truth.npy", "--out", tmp_path / "out"]
    run = erkle(*command)
    assert run.returncode == 2
    assert "truth.npy: does not name its 12 rows; pass --objects" in run.refusal[0]
    (tmp_path / "objects.txt").write_text("".join(f"{name}\n" for name in NAMES))
    assert erkle(*command, "--objects", tmp_path / "objects.txt").returncode == 0
    by_position = learned(tmp_path / "out").kernel_matrix()
    assert erkle("learn", study[0], "--features", study[1], "--out", tmp_path / "out").returncode == 0
    assert np.array_equal(learned(tmp_path / "out").kernel_matrix(), by_position)


def test_names_that_only_look_the_same_are_pointed_out(erkle, tmp_path):
    composed, decomposed = ([f"{word} {i}" for i in range(4)] for word in ("caf\u00e9", "cafe\u0301"))
    (tmp_path / "answers.csv").write_text(
        "".join(f"{decomposed[i]},{decomposed[i - 1]},{decomposed[i - 2]}\n" for i in range(4))
    )
    command = ["learn", tmp_path / "answers.csv", "--out", tmp_path / "out", "--features"]
    run = erkle(*command, features(tmp_path / "size.csv", composed, X[:4]))
    assert run.returncode == 2
    assert "Unicode" in run.refusal[-1]
    run = erkle(*command, features(tmp_path / "size.csv", [*composed[:1], *decomposed[1:]], X[:4]))
    assert run.returncode == 0, run.stderr
    assert "1 of 5 objects has no features" in " ".join(run.stderr.split())
    assert "Unicode" in run.stderr


def test_several_blocks_have_names(erkle, study, tmp_path):
    np.savez(tmp_path / "both.npz", left=X[:, :2], right=X[:, 2:], names=np.array(NAMES))
    options = ["--features", f"noise={study[1]}", "--features", tmp_path / "both.npz"]
    run = erkle("learn", study[0], *options, "--out", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    learner = learned(tmp_path / "out")
    assert [worth.name for worth in learner.features_] == ["noise", "left", "right"]
    assert all(f"Features: {name} " in run.stderr for name in ("noise", "left", "right"))


def bad_vectors(value):
    vectors = X.copy()
    vectors[2, 1] = value
    return vectors


def refusals(tmp_path):
    """Options, and what the sentence about them says."""
    np.save(tmp_path / "short.npy", X[:5])
    (tmp_path / "objects.txt").write_text("".join(f"{name}\n" for name in NAMES))
    (tmp_path / "text.csv").write_text("name,x\nobject 1,red\n")
    (tmp_path / "empty.csv").write_text("")
    truth = tmp_path / "truth.csv"
    yield ["--features", tmp_path / "nowhere.csv"], ["nowhere.csv", "no such file"]
    yield ["--features", f"clip={tmp_path / 'nowhere.csv'}"], ["nowhere.csv", "no such file"]
    yield ["--features", "clip="], ["--features is 'clip='"]
    yield ["--features", ""], ["--features is ''"]
    yield ["--features", f"a\nb={truth}"], ["'a\\nb'"]
    yield ["--features", f"={truth}"], ["--features is '="]
    yield ["--features", tmp_path / "empty.csv"], ["empty.csv", "is empty"]
    yield ["--features", tmp_path / "text.csv"], ["text.csv, line 2", "'red'"]
    yield ["--features", truth, "--features", truth], ["two blocks", "truth"]
    yield ["--features", features(tmp_path / "nan.csv", vectors=bad_vectors(np.nan))], ["nan.csv", "'object 2'"]
    yield ["--features", features(tmp_path / "inf.csv", vectors=bad_vectors(np.inf))], ["inf.csv", "infinity"]
    yield ["--features", features(tmp_path / "same.csv", vectors=np.ones((N, 2)))], ["same", "same vector"]
    yield ["--features", features(tmp_path / "one.csv", NAMES[:1], X[:1])], ["one", "1 vector;"]
    yield ["--features", features(tmp_path / "twice.csv", [*NAMES[:-1], NAMES[0]])], ["'object 0' twice"]
    yield ["--features", features(tmp_path / "other.csv", [f"thing {i}" for i in range(N)])], ["thing 0", "object"]
    yield ["--features", tmp_path / "short.npy", "--objects", tmp_path / "objects.txt"], ["5 rows", "12 objects"]
    for options in (["--exact"], ["--rank", "3"], ["--consolidate", "off"], ["--start", truth]):
        yield ["--features", truth, *options], ["--features", options[0]]


def test_what_does_not_fit_is_refused_in_one_sentence_and_nothing_is_written(erkle, study, tmp_path):
    for options, values in refusals(tmp_path):
        run = erkle("learn", study[0], *options, "--out", tmp_path / "out")
        assert run.returncode == 2, options
        [sentence] = [line for line in run.refusal if not line.startswith("Checking")]
        assert all(value in sentence for value in values), (options, sentence)
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("given", [{"exact": True}, {"rank": "3"}, {"rank": "3", "consolidate": "0.1"}, {"start": "k"}])
def test_only_the_default_learner_takes_features(given):
    values = {"exact": False, "rank": "auto", "trace": None, "consolidate": "auto", "tol": 1e-2}
    values |= {name: value for name, value in given.items() if name in values}
    with pytest.raises(ValueError, match="--features"):
        kernel_from_options({*given, "features"}, **values)


@pytest.mark.parametrize("options", [[], ["--shuffle"], ["--holdout", "0.1"]], ids=str)
def test_a_killed_run_with_features_resumes_to_the_same_learner(erkle, options, study, tmp_path, monkeypatch):
    some = features(tmp_path / "some.csv", NAMES[:9], X[:9])
    command = ["learn", study[0], "--features", some, *options, "--checkpoint-every", 100, "--out"]
    killed(erkle, monkeypatch, 2, *command, tmp_path / "out")
    assert listing(tmp_path / "out") == ["checkpoint.npz"]
    assert erkle(*command, tmp_path / "out", "--resume").returncode == 0
    assert erkle(*command, tmp_path / "whole").returncode == 0
    for name in ("errors.csv", "embedding.csv", "summary.json"):
        assert (tmp_path / "out" / name).read_text() == (tmp_path / "whole" / name).read_text()
    one, other = (pack(learned(tmp_path / folder)) for folder in ("out", "whole"))
    assert one[1] == other[1]
    assert all(
        np.array_equal(array, other[0][name], equal_nan=True)
        for name, array in one[0].items()
        if array.dtype.kind == "f"
    )


def test_other_features_are_refused_when_a_run_is_resumed(erkle, study, tmp_path, monkeypatch):
    command = ["learn", study[0], "--checkpoint-every", 100, "--out", tmp_path / "out"]
    killed(erkle, monkeypatch, 1, *command, "--features", study[1])
    (tmp_path / "moved").mkdir()
    moved = features(tmp_path / "moved" / "truth.csv")
    for options in ([], ["--features", f"clip={study[1]}"], ["--features", features(study[1], vectors=2 * X)]):
        run = erkle(*command, *options, "--resume")
        assert run.returncode == 2, options
        assert "features" in run.refusal[-1]
    assert erkle(*command, "--features", moved, "--resume").returncode == 0


def test_a_stream_learns_with_features(erkle, study, tmp_path, monkeypatch):
    T = answers_of(N, 300)
    some = features(tmp_path / "some.csv", NAMES[:9], X[:9])
    (tmp_path / "stream").write_text("".join(lines(T)))
    with (tmp_path / "stream").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        run = erkle("learn", "-", "--features", some, "--out", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    assert "3 of 12 objects have no features: " in " ".join(run.stderr.split())
    names = [row["object"] for row in table(tmp_path / "out" / "embedding.csv")]
    assert names[:9] == NAMES[:9]
    assert learned(tmp_path / "out").n_triplets_seen_ == 300


def test_a_run_with_features_can_be_continued_about_new_objects(erkle, study, tmp_path):
    assert erkle("learn", study[0], "--features", study[1], "--out", tmp_path / "a").returncode == 0
    second = tmp_path / "second.csv"
    second.write_text("anchor,near,far\nobject 1,object 2,a new object\n")
    run = erkle("learn", second, "--start", tmp_path / "a" / "kernel.npz", "--out", tmp_path / "b")
    assert run.returncode == 0, run.stderr
    assert "Features: truth" in run.stderr
    assert learned(tmp_path / "b").n_objects_ == 13


def test_info_describes_the_features_of_a_learner(erkle, study, tmp_path):
    some = features(tmp_path / "some.csv", NAMES[:9], X[:9])
    assert erkle("learn", study[0], "--features", some, "--out", tmp_path / "out").returncode == 0
    run = erkle("info", tmp_path / "out" / "kernel.npz")
    assert run.returncode == 0, run.stderr
    said = " ".join(run.stdout.split())
    assert "features some: 5 columns, 5 principal axes, 9 of 12 objects with a vector" in said
    [worth] = learned(tmp_path / "out").features_
    assert f"worth {worth}" in said


def test_info_describes_a_file_of_features(erkle, tmp_path):
    vectors = X.copy()
    vectors[3] = np.nan
    run = erkle("info", features(tmp_path / "size.csv", vectors=vectors))
    assert run.returncode == 0, run.stderr
    said = " ".join(run.stdout.split())
    for words in ("objects 12", "object 0, object 1", "features size 5 columns", "1 of 12 objects without a vector"):
        assert words in said
    np.savez(tmp_path / "both.npz", clip=X, constant=np.ones((N, 2)))
    said = " ".join(erkle("info", tmp_path / "both.npz").stdout.split())
    for words in (
        "names none; erkle learn needs --objects",
        "features clip 5 columns",
        "constant 2 columns, of no use",
    ):
        assert words in said
    (tmp_path / "broken.npy").write_bytes(b"\x93NUMPY")
    broken = erkle("info", tmp_path / "broken.npy")
    assert broken.returncode == 2
    assert broken.refusal[0].startswith("erkle: broken.npy")


def test_a_file_without_pyarrow_says_what_to_install(erkle, study, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "size.parquet").write_bytes(b"PAR1")
    run = erkle("learn", study[0], "--features", tmp_path / "size.parquet", "--out", tmp_path / "out")
    assert run.returncode == 2
    assert "pip install 'erkle[parquet]'" in run.refusal[0]
