"""`erkle learn --participant`: who answered, from a further column of the file."""

import json

import numpy as np
import pytest

from commands import FILES, listing, table
from erkle.datasets import city_answers, flip, load_cities

NAMES = ["Ann", "Bob", "Cid", "Eve", ""]


@pytest.fixture(scope="module")
def study():
    """Answers of four participants to the same questions; Eve guesses, and some answers have no participant."""
    T = np.tile(city_answers(150, wrong=0.0, random_state=0), (5, 1))
    participants = np.repeat(NAMES, 150)
    guesses = flip(T, 0.5, random_state=0)
    rows = np.where(participants[:, None] == "Eve", guesses, T)
    names = load_cities().names
    order = np.random.default_rng(0).permutation(len(rows))
    return [[str(participants[i]), *(names[j] for j in rows[i])] for i in order]


def write(path, study, form):
    if form == "csv":
        lines = ["Who;anchor;near;far", *(";".join(row) for row in study)]
    else:
        keys = ("anchor", "near", "far")
        people = [{"Who": row[0]} if row[0] else {} for row in study]
        answers = [dict(zip(keys, row[1:], strict=True)) for row in study]
        lines = [json.dumps({**answer, **who}) for answer, who in zip(answers, people, strict=True)]
        first = next(i for i, who in enumerate(people) if who)
        lines.insert(0, lines.pop(first))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_participants_are_compared_with_the_others_and_with_the_learner_and_none_is_dropped(
    erkle, study, form, tmp_path
):
    path = write(tmp_path / f"answers.{form}", study, form)
    run = erkle("learn", path, "--participant", "who", "--rank", 3, "--out", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    rows = {row["participant"]: row for row in table(tmp_path / "out" / "participants.csv")}
    assert list(rows) == sorted(NAMES)
    assert {row["answers"] for row in rows.values()} == {"150"}
    assert {name for name, row in rows.items() if row["flagged"] != "no"} == {"Eve"}
    assert float(rows["Ann"]["agreement_with_others"]) > 0.9 > 0.7 > float(rows["Eve"]["agreement_with_others"])
    assert float(rows["Ann"]["agreement_with_learner"]) > float(rows["Eve"]["agreement_with_learner"])
    assert "1 of 4 participants agrees with the others significantly less than expected: Eve" in " ".join(
        run.stderr.split()
    )
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["n_learned"] == 750


def test_a_run_without_participants_leaves_no_table_of_an_earlier_one(erkle, study, tmp_path):
    path = write(tmp_path / "answers.csv", study[:100], "csv")
    assert (
        erkle("learn", path, "--consolidate", "off", "--participant", "Who", "--out", tmp_path / "out").returncode == 0
    )
    assert listing(tmp_path / "out") == [*FILES, "participants.csv"]
    assert erkle("learn", path, "--consolidate", "off", "--out", tmp_path / "out").returncode == 0
    assert listing(tmp_path / "out") == FILES


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("answers.csv", "anchor,near,far,puid\na,b,c,1\n", "line 1: has no column 'who', but 4 columns ('anchor', "),
        ("answers.csv", "a,b,c\nd,b,c\n", "line 1: has no column 'who', but 3 columns"),
        ("answers.csv", "dog,cat,bus\n", "line 1: is not a header, so there is no column 'who'"),
        ("answers.csv", "anchor,near,far,who,WHO\na,b,c,1,2\n", "names the column who more than once"),
        ("answers.jsonl", '{"a": 1, "b": 2, "c": 3, "by": 4}\n', "line 1: has no key 'who', but 4 keys"),
    ],
)
def test_a_column_that_is_not_there_is_refused_with_those_that_are(erkle, name, text, said, tmp_path):
    (tmp_path / name).write_text(text)
    run = erkle("learn", tmp_path / name, "--participant", "who", "--out", tmp_path / "out")
    assert run.returncode == 2
    assert said in run.stderr
    assert len(run.stderr.splitlines()) == 1


@pytest.mark.parametrize("column", ["anchor", "NEAR", "far"])
@pytest.mark.parametrize(
    ("name", "text", "noun"),
    [
        ("answers.csv", "anchor,near,far,who\na,b,c,1\n", "column"),
        ("answers.jsonl", '{"anchor": 1, "near": 2, "far": 3, "who": 4}\n', "key"),
    ],
)
def test_objects_are_not_participants(erkle, name, text, noun, column, tmp_path):
    (tmp_path / name).write_text(text)
    run = erkle("learn", tmp_path / name, "--participant", column, "--out", tmp_path / "out")
    assert run.returncode == 2
    assert run.stderr.startswith(f"erkle: {name}, line 1: ")
    assert f"{noun} '{column}'" in run.stderr
    assert not (tmp_path / "out").exists()
