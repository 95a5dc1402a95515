"""`erkle learn` and `erkle info` with Parquet files and folders: the results are those of the same answers in text."""

import csv
import sys

import numpy as np
import pytest

from commands import answers_of, killed, learned, listing, n_saved, table
from erkle.features.table_files import is_feature_file
from erkle.triplets import Reader

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.usefixtures("without_pictures")

T = answers_of(30, 1000)
WHO = [f"p{i % 7}" for i in range(len(T))]
COLUMNS = ("anchor", "near", "far", "who")

OPTIONS = {
    "default": [],
    "held out": ["--holdout", 0.2],
    "shuffled": ["--shuffle", "--holdout", 0.1],
    "with participants": ["--participant", "Who"],
    "shuffled with participants": ["--participant", "who", "--shuffle"],
    "exact": ["--exact", "--passes", 2],
}


def in_text(path, rows=T, who=WHO):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *([*row, name] for row, name in zip(rows.tolist(), who, strict=True))])
    return path


def in_parquet(path, rows=T, who=WHO, kind=None):
    columns = [pa.array(column).cast(kind or pa.int32()) for column in rows.T]
    parquet.write_table(pa.table([*columns, pa.array(who)], names=COLUMNS), path, row_group_size=150)
    return path


def in_folder(path, n=4, kind=None):
    path.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(T)), n)):
        in_parquet(path / f"part.{number}.parquet", T[rows], [WHO[i] for i in rows], kind)
    (path / "_SUCCESS").touch()
    return path


def assert_same_results(folder, other):
    assert listing(folder) == listing(other)
    assert np.array_equal(learned(folder).kernel_matrix(), learned(other).kernel_matrix())
    for name in ("errors.csv", "embedding.csv"):
        assert (folder / name).read_text() == (other / name).read_text()
    if (other / "participants.csv").exists():
        assert table(folder / "participants.csv") == table(other / "participants.csv")


@pytest.mark.parametrize("case", OPTIONS)
def test_the_learner_is_that_of_the_same_answers_in_text(erkle, case, tmp_path, monkeypatch):
    monkeypatch.setattr("erkle.triplets.arrow.parts.BATCH", 64)
    test = in_parquet(tmp_path / "test.parquet", T[:50], WHO[:50])
    more = OPTIONS[case] if "--holdout" in OPTIONS[case] else [*OPTIONS[case], "--test", test]
    files = {
        "text": in_text(tmp_path / "answers.csv"),
        "numbers": in_parquet(tmp_path / "answers.parquet"),
        "names": in_folder(tmp_path / "answers", kind=pa.string()),
    }
    for name, path in files.items():
        run = erkle("learn", path, *more, "--out", tmp_path / name)
        assert run.returncode == 0, run.stderr
    assert_same_results(tmp_path / "numbers", tmp_path / "text")
    assert_same_results(tmp_path / "names", tmp_path / "text")


@pytest.mark.parametrize("options", [["--holdout", 0.1], ["--shuffle"], ["--participant", "who"]], ids=str)
@pytest.mark.parametrize("make", [in_parquet, in_folder])
def test_a_killed_run_resumes_to_the_same_kernel(erkle, make, options, tmp_path, monkeypatch):
    monkeypatch.setattr("erkle.triplets.arrow.parts.BATCH", 64)
    path = make(tmp_path / "answers.parquet")
    command = ["learn", path, "--checkpoint-every", 200, *options, "--out"]
    killed(erkle, monkeypatch, 2, *command, tmp_path / "out")
    assert 0 < n_saved(tmp_path / "out") < 900
    run = erkle(*command, tmp_path / "out", "--resume")
    assert run.returncode == 0, run.stderr
    assert erkle(*command, tmp_path / "whole").returncode == 0
    assert_same_results(tmp_path / "out", tmp_path / "whole")


def test_a_folder_may_get_new_files_before_it_is_resumed_but_no_file_may_change(erkle, tmp_path, monkeypatch):
    path, out = in_folder(tmp_path / "answers"), tmp_path / "out"
    last = (path / "part.3.parquet").read_bytes()
    (path / "part.3.parquet").unlink()
    command = ["learn", path, "--checkpoint-every", 200, "--out"]
    killed(erkle, monkeypatch, 2, *command, out)
    first = (path / "part.0.parquet").read_bytes()
    in_parquet(path / "part.0.parquet", T[:250, [0, 2, 1]], WHO[:250])
    run = erkle(*command, out, "--resume")
    assert run.returncode == 2
    assert "checkpoint.npz" in run.stderr
    (path / "part.0.parquet").write_bytes(first)
    (path / "part.3.parquet").write_bytes(last)
    assert erkle(*command, out, "--resume").returncode == 0
    assert erkle(*command, tmp_path / "whole").returncode == 0
    assert_same_results(out, tmp_path / "whole")


@pytest.mark.parametrize("make", [in_text, in_parquet])
def test_a_file_that_changes_after_it_was_checked_is_refused(erkle, make, tmp_path, monkeypatch):
    path = make(tmp_path / ("answers.csv" if make is in_text else "answers.parquet"))

    def change(*_):
        make(path, T[::-1])

    monkeypatch.setattr("erkle.cli.learn.learning.compile_first", change)
    run = erkle("learn", path, "--out", tmp_path / "out")
    assert run.returncode == 2
    assert "changed" in run.refusal[-1]
    monkeypatch.setattr("erkle.cli.learn.learning.compile_first", lambda *_: path.unlink())
    run = erkle("learn", path, "--out", tmp_path / "out")
    assert run.returncode == 2
    assert run.refusal[-1].startswith(f"erkle: {path.name}: ")
    assert listing(tmp_path) == []


def test_info_describes_answers_in_parquet_as_those_in_text(erkle, tmp_path):
    said = [erkle("info", path) for path in (in_text(tmp_path / "a.csv"), in_parquet(tmp_path / "a.parquet"))]
    said.append(erkle("info", in_folder(tmp_path / "a")))
    assert [run.returncode for run in said] == [0, 0, 0]
    texts = [run.stdout.splitlines() for run in said]
    assert [lines[0] for lines in texts] == ["a.csv", "a.parquet", "a"]
    assert texts[0][1:] == texts[1][1:] == texts[2][1:]


def test_info_tells_features_from_answers_by_the_columns(erkle, tmp_path):
    path = tmp_path / "size.parquet"
    parquet.write_table(pa.table({"name": ["a", "b", "c"], "x": [1.0, 2.0, 5.0]}), path)
    assert is_feature_file(path)
    assert "features size" in erkle("info", path).stdout
    answers = in_parquet(tmp_path / "answers.parquet")
    assert not is_feature_file(answers)


def test_a_file_that_is_not_parquet_is_refused_in_one_sentence(erkle, tmp_path):
    path = in_text(tmp_path / "answers.csv")
    renamed = path.rename(tmp_path / "answers.parquet")
    for command in (["learn", renamed, "--out", tmp_path / "out"], ["info", renamed]):
        run = erkle(*command)
        assert run.returncode == 2
        assert len(run.refusal) == 1
        assert run.refusal[0].startswith("erkle: answers.parquet")


def test_a_missing_pyarrow_is_one_sentence(erkle, tmp_path, monkeypatch):
    path = in_parquet(tmp_path / "answers.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for command in (["learn", path, "--out", tmp_path / "out"], ["info", path]):
        run = erkle(*command)
        assert run.returncode == 2
        assert len(run.refusal) == 1
        assert "erkle[parquet]" in run.stderr


def test_the_number_of_answers_read_is_the_progress(tmp_path, monkeypatch):
    monkeypatch.setattr("erkle.triplets.arrow.parts.BATCH", 64)
    with Reader(in_folder(tmp_path / "answers")) as reader:
        ends = [chunk.end_offset for chunk in reader]
    assert ends == sorted(ends)
    assert ends[-1] == reader.size == len(T)
