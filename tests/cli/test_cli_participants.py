"""`erkle learn --participant`: participants, from a further column of the file."""

import json

import numpy as np
import pytest

from commands import EXACT, listing, table
from erkle.datasets import city_answers, flip, load_cities

pytestmark = pytest.mark.usefixtures("without_pictures")

NAMES = ["Ann", "Bob", "Cid", "Eve", ""]


@pytest.fixture(scope="module")
def study():
    """The answers of four participants to the same questions. Eve guesses, and some answers have no participant."""
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
def test_participants_are_compared_with_the_others_and_with_the_learner(erkle, study, form, tmp_path):
    path = write(tmp_path / f"answers.{form}", study, form)
    run = erkle("learn", path, "--participant", "who", "--rank", 3, "--out", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    rows = {row["participant"]: row for row in table(tmp_path / "out" / "participants.csv")}
    assert list(rows) == sorted(NAMES)
    assert {row["answers"] for row in rows.values()} == {"150"}
    assert {name for name, row in rows.items() if row["flagged"] != "no"} == {"Eve"}
    assert float(rows["Ann"]["agreement_with_others"]) > 0.9 > 0.7 > float(rows["Eve"]["agreement_with_others"])
    assert float(rows["Ann"]["agreement_with_learner"]) > float(rows["Eve"]["agreement_with_learner"])
    assert "1 of 4 participants" in run.stderr
    assert "Eve (" in run.stderr
    said = " ".join(run.stderr.split())
    assert said.count("agrees with the others significantly") == 1
    assert said.count("the learner (measured on answers that it has learned)") == 1
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["n_learned"] == 750


def test_a_run_without_participants_removes_the_table_of_an_earlier_run(erkle, study, tmp_path):
    path = write(tmp_path / "answers.csv", study[:100], "csv")
    command = ["learn", path, "--exact", "--out", tmp_path / "out"]
    assert erkle(*command, "--participant", "Who").returncode == 0
    assert listing(tmp_path / "out") == sorted([*EXACT, "participants.csv"])
    assert erkle(*command).returncode == 0
    assert listing(tmp_path / "out") == EXACT


@pytest.mark.parametrize("column", ["nobody", "NEAR"])
def test_a_column_that_names_no_participants_is_refused(erkle, study, column, tmp_path):
    path = write(tmp_path / "answers.csv", study[:10], "csv")
    run = erkle("learn", path, "--participant", column, "--out", tmp_path / "out")
    assert run.returncode == 2
    assert run.refusal[0].startswith("erkle: answers.csv, line 1: ")
    assert f"column '{column}'" in run.stderr
    assert len(run.refusal) == 1
    assert not (tmp_path / "out").exists()
