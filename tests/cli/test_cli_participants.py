"""`erkle learn --participant`: participants, from a further column of a file or of standard input."""

import json
import sys

import numpy as np
import pytest

from commands import EXACT, killed, learned, listing, table
from erkle import ERKLE, Dense, LowRank, triplets
from erkle.cli.learn.participants import at_random
from erkle.datasets import city_answers, flip, load_cities
from erkle.online.participants import ParticipantLapses

pytestmark = pytest.mark.usefixtures("without_pictures")

NAMES = ["Ann", "Bob", "Cid", "Eve", ""]
# Every kind of learner that treats participants differently: its options, and its parameters in Python.
KINDS = {
    "default": ([], {}),
    "of rank 3, fitted": (["--rank", "3", "--consolidate", "0.2"], {"kernel": LowRank(3, None, 0.2)}),
    "exact": (["--exact"], {"kernel": Dense()}),
}


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


def write(path, study, form="csv"):
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


def rows_of(folder):
    return {row["participant"]: row for row in table(folder / "participants.csv")}


def assert_same_learner(one, other):
    assert np.array_equal(one.kernel_matrix(), other.kernel_matrix())
    for mine, theirs in zip(one.participants_, other.participants_, strict=True):
        assert np.array_equal(mine, theirs)


def in_python(path, kind, shuffle=False, holdout=0.0):
    """What the library learns from the file, with the participants."""
    [chunk] = triplets.Reader(path, column="Who")
    T, who = chunk.triplets, np.array(chunk.column)
    if shuffle:
        order = np.random.default_rng(0).permutation(len(T))
        T, who = T[order], who[order]
    kept = ~triplets.held_out(T, holdout, 0)
    learner = ERKLE(T.max() + 1, random_state=0, **KINDS[kind][1]).fit(T[kept], participants=who[kept])
    if learner.kernel.consolidates:
        learner.consolidate()
    return learner


@pytest.mark.parametrize(
    "options", [{}, {"shuffle": True}, {"holdout": 0.2}, {"shuffle": True, "holdout": 0.2}], ids=str
)
@pytest.mark.parametrize("kind", KINDS)
def test_participants_are_learned_as_in_the_library(erkle, study, kind, options, tmp_path):
    path = write(tmp_path / "answers.csv", study)
    flags = [*KINDS[kind][0], *(["--shuffle"] if "shuffle" in options else [])]
    run = erkle(
        "learn", path, "--participant", "who", *flags, "--holdout", options.get("holdout", 0), "--out", tmp_path
    )
    assert run.returncode == 0, run.stderr
    assert_same_learner(learned(tmp_path), in_python(path, kind, **options))


def test_fits_depend_on_the_participants(erkle, study, tmp_path):
    path = write(tmp_path / "answers.csv", study)
    assert erkle("learn", path, "--participant", "Who", "--out", tmp_path / "with").returncode == 0
    assert erkle("learn", path, "--out", tmp_path / "without").returncode == 0
    kernels = [learned(tmp_path / folder).kernel_matrix() for folder in ("with", "without")]
    assert not np.allclose(*kernels)


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_has_the_slips_of_the_learner(erkle, study, kind, tmp_path):
    path = write(tmp_path / "answers.csv", study)
    run = erkle("learn", path, "--participant", "who", *KINDS[kind][0], "--holdout", 0.2, "--out", tmp_path)
    assert run.returncode == 0, run.stderr
    learner, rows = learned(tmp_path), rows_of(tmp_path)
    assert list(rows) == sorted(NAMES)
    for name, n_answers, lapse, low, high, random in zip(*learner.participants_, strict=True):
        row = rows[name]
        assert int(row["answers"]) == n_answers
        assert [float(row[column]) for column in ("lapse", "lapse_low", "lapse_high")] == [lapse, low, high]
        assert row["at_random"] == ("yes" if random else "no")
    assert [rows[""][column] for column in ("lapse", "lapse_low", "lapse_high", "at_random")] == [""] * 4
    assert sum(int(row["answers"]) for row in rows.values()) == learner.n_triplets_seen_
    assert {name for name, row in rows.items() if row["at_random"] == "yes"} == {"Eve"}
    assert f"1 of 4 participants seems to answer at random: Eve ({rows['Eve']['answers']} answers," in run.stderr
    # The exact kernel keeps no answers to compare.
    assert {row["agreement_with_others"] == "" for row in rows.values()} == {kind == "exact"}
    assert {row["flagged"] == "" for row in rows.values()} == {kind == "exact"}


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_participants_are_compared_with_the_others_and_with_the_learner(erkle, study, form, tmp_path):
    path = write(tmp_path / f"answers.{form}", study, form)
    run = erkle("learn", path, "--participant", "who", "--rank", 3, "--out", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    rows = rows_of(tmp_path / "out")
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


@pytest.mark.parametrize("options", [[], ["--shuffle", "--holdout", 0.1]], ids=["in order", "shuffled"])
def test_a_stopped_run_resumes_with_its_participants(erkle, study, options, tmp_path, monkeypatch):
    path = write(tmp_path / "answers.csv", study)
    command = ["learn", path, "--participant", "Who", *options, "--checkpoint-every", 200, "--out"]
    killed(erkle, monkeypatch, 2, *command, tmp_path / "out")
    refused = erkle("learn", path, *options, "--checkpoint-every", 200, "--out", tmp_path / "out", "--resume")
    assert refused.returncode == 2
    assert "participant Who" in refused.stderr
    assert "participant None" in refused.stderr
    assert erkle(*command, tmp_path / "out", "--resume").returncode == 0
    assert erkle(*command, tmp_path / "whole").returncode == 0
    assert_same_learner(learned(tmp_path / "out"), learned(tmp_path / "whole"))
    assert rows_of(tmp_path / "out") == rows_of(tmp_path / "whole")


def stream(erkle, monkeypatch, path, *arguments):
    with path.open() as opened:
        monkeypatch.setattr(sys, "stdin", opened)
        return erkle("learn", "-", "--participant", "who", *arguments)


@pytest.mark.parametrize("options", [[], ["--holdout", 0.2]], ids=["all", "held out"])
def test_a_stream_with_participants_is_learned_like_a_file(erkle, study, options, tmp_path, monkeypatch):
    path = write(tmp_path / "answers.csv", study)
    assert stream(erkle, monkeypatch, path, *options, "--out", tmp_path / "stream").returncode == 0
    assert erkle("learn", path, "--participant", "who", *options, "--out", tmp_path / "file").returncode == 0
    assert_same_learner(learned(tmp_path / "stream"), learned(tmp_path / "file"))
    assert rows_of(tmp_path / "stream") == rows_of(tmp_path / "file")


def test_a_stream_that_is_resumed_keeps_its_participants(erkle, study, tmp_path, monkeypatch):
    first, second = write(tmp_path / "a.csv", study[:300]), write(tmp_path / "b.csv", study[300:])
    arguments = ["--checkpoint-every", 100, "--out", tmp_path / "out"]
    with first.open() as opened:
        monkeypatch.setattr(sys, "stdin", opened)
        killed(erkle, monkeypatch, 3, "learn", "-", "--participant", "who", *arguments)
    run = stream(erkle, monkeypatch, second, *arguments, "--resume")
    assert run.returncode == 0, run.stderr
    assert {row["answers"] for row in rows_of(tmp_path / "out").values()} == {"150"}


def test_a_finished_run_continues_with_its_participants(erkle, study, tmp_path):
    first, second = write(tmp_path / "a.csv", study[:400]), write(tmp_path / "b.csv", study[400:])
    assert erkle("learn", first, "--participant", "Who", "--out", tmp_path / "a").returncode == 0
    start = ["--start", tmp_path / "a" / "kernel.npz", "--out", tmp_path / "b"]
    assert erkle("learn", second, "--participant", "Who", *start).returncode == 0
    assert {row["answers"] for row in rows_of(tmp_path / "b").values()} == {"150"}


def test_a_stream_without_a_header_is_refused(erkle, tmp_path, monkeypatch):
    path = tmp_path / "answers.csv"
    path.write_text("x,y,z\ny,x,z\n")
    run = stream(erkle, monkeypatch, path, "--out", tmp_path / "out")
    assert run.returncode == 2
    assert "standard input, line 1" in run.stderr
    assert "column 'who'" in run.stderr


def test_answers_without_any_participant_are_learned_and_said(erkle, study, tmp_path):
    nobody = [["", *row[1:]] for row in study]
    path = write(tmp_path / "answers.csv", nobody)
    run = erkle("learn", path, "--participant", "Who", "--out", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    assert "No answer names the participant who gave it." in run.stderr
    assert "at random" not in run.stderr
    assert [(row["participant"], row["answers"]) for row in table(tmp_path / "out" / "participants.csv")] == [
        ("", "750")
    ]
    assert erkle("learn", path, "--out", tmp_path / "other").returncode == 0
    assert_same_learner(learned(tmp_path / "out"), learned(tmp_path / "other"))


@pytest.mark.parametrize("name", ["7", "[b]", "ナ,ナ", '"quoted"', "nan"])
def test_any_name_is_a_participant_unless_it_means_unknown(erkle, study, name, tmp_path):
    path = write(tmp_path / "answers.jsonl", [[name, *row[1:]] for row in study[:100]], "jsonl")
    assert erkle("learn", path, "--participant", "Who", "--exact", "--out", tmp_path / "out").returncode == 0
    assert list(rows_of(tmp_path / "out")) == ["" if name == "nan" else name]


def test_a_sentence_names_at_most_ten_participants():
    names, zeros = np.array([f"p{i}" for i in range(14)]), np.zeros(14)
    everybody = ParticipantLapses(names, np.full(14, 1200), zeros, zeros, zeros, np.arange(14) < 12)
    said = at_random(everybody)
    assert said.startswith("12 of 14 participants seem")
    assert "p9 (1,200 answers, 0 to 0 % slips), and 2 more." in said
    assert "p10" not in said
    assert "None of 14" in at_random(everybody._replace(at_random=zeros > 0))
    unsure = at_random(everybody._replace(at_random=zeros > 0, lapse=np.where(names == "p3", 0.4, 0.0)))
    assert "be sure about p3 (1,200 answers" in unsure
