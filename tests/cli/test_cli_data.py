"""`erkle data`: list, download and describe data sets."""

import pytest

from erkle import triplets
from erkle.datasets import CATALOGUE, load
from erkle.datasets.catalogue import Source
from made_up import NOBODY, PUBLISHED, in_folder, publish, put, sha256

FILES = in_folder("cars60", PUBLISHED["cars60"][0])


def squeezed(text):
    return " ".join(text.split())


@pytest.fixture
def home(tmp_path, cache):
    return put(tmp_path / "data", FILES)


def test_the_list_shows_every_data_set_and_whether_it_is_here(erkle, home):
    run = erkle("data", "list", "--data", home)
    assert run.returncode == 0
    lines = {line.split()[0]: line.split() for line in run.stdout.splitlines() if line.split()[0] in CATALOGUE}
    assert set(lines) == set(CATALOGUE)
    assert {name: line[3] for name, line in lines.items()} == {
        name: "yes" if name == "cars60" else "no" for name in CATALOGUE
    }
    assert lines["aset400"][1:3] == ["412", "16,331"]


def test_info_counts_answers_repeats_and_conflicts_and_names_source_and_licence(erkle, home):
    put(home, {"cars60/survey_data.csv": FILES["cars60/survey_data.csv"] + b"3,2,2,5,9,1\n3,5,2,5,9,1\n"})
    run = erkle("data", "info", "cars60", "--data", home)
    assert run.returncode == 0
    said = squeezed(run.stdout)
    for fact in (
        "answers 10",
        "different questions 7",
        "identical answers 2",
        "answers in conflict 3 on 1 questions",
        "unavoidable error 10.0 %",
        "columns answer, round, response_time",
        "please cite",
        "Kleindessner",
    ):
        assert fact in said
    assert CATALOGUE["cars60"].parts[0].sources[0].sha256 in "".join(run.stdout.split())
    assert "Warning: cars60:" in run.stderr
    assert ".py" not in run.stderr


def test_info_about_a_data_set_that_is_not_here_says_how_to_download_it(erkle, home, cache):
    run = erkle("data", "info", "eggs300", "--data", home)
    assert run.returncode == 0
    assert "erkle data fetch eggs300" in squeezed(run.stdout)
    assert "responses.csv.zip: unknown" in squeezed(run.stdout)
    assert not cache.exists()


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_learn_reads_the_file_that_fetch_writes(erkle, suffix, home, tmp_path):
    out = tmp_path / f"answers.{suffix}"
    run = erkle("data", "fetch", "cars60", "--data", home, "--out", out)
    assert run.returncode == 0, run.stderr
    assert f"erkle learn {out}" in run.stderr
    T, labels = triplets.read(out)
    with pytest.warns(UserWarning, match="published"):
        dataset = load("cars60", home)
    assert labels.decode(T).tolist() == [[dataset.names[i] for i in row] for row in dataset.triplets.tolist()]
    assert erkle("learn", out, "--out", tmp_path / "out").returncode == 0
    assert erkle("data", "fetch", "cars60", "--data", home, "--out", tmp_path / "no" / out.name).returncode == 2


def test_fetch_downloads_to_the_given_folder(erkle, cache, tmp_path, monkeypatch):
    content = FILES["cars60/survey_data.csv"]
    put(cache, FILES)
    publish(monkeypatch, "cars60", Source(f"{NOBODY}/survey_data.csv", sha256(content)))
    # A copy in the cache is enough, but for another folder the data set must be downloaded.
    assert erkle("data", "fetch", "cars60").returncode == 0
    run = erkle("data", "fetch", "cars60", "--data", tmp_path / "new")
    assert run.returncode == 2
    assert str(tmp_path / "new" / "cars60") in run.stderr


@pytest.mark.usefixtures("cache")
def test_an_expected_error_is_one_sentence(erkle, tmp_path, monkeypatch):
    publish(monkeypatch, "cars60", Source(f"{NOBODY}/survey_data.csv", None))
    for arguments, said in [
        (["fetch", "aset401"], "choose from aset400"),
        (["info", "aset401"], "choose from aset400"),
        (["list", "--data", tmp_path / "nowhere"], "no such folder"),
        (["info", "cars60", "--data", tmp_path / "nowhere"], "no such folder"),
        (["fetch", "cars60"], "no connection"),
    ]:
        run = erkle("data", *arguments)
        assert run.returncode == 2
        [sentence] = [line for line in run.stderr.splitlines() if line.startswith("erkle: ")]
        assert said in sentence
        assert run.stderr.count("\n") == 1
