"""The options of `erkle learn`: values and combinations that are refused before any work begins."""

import json
from pathlib import Path

import pytest

from commands import listing
from erkle import CKL, ERKLE, AnswerModel, Dense, LowRank, PassiveAggressiveI
from erkle.cli.learn.settings import Settings, kernel_from_options, loss_from_text, step_from_text

DEFAULTS = {"exact": False, "rank": "auto", "trace": None, "consolidate": "auto", "tol": 1e-2}


def kernel(**given):
    """The kernel for options that the user has given; options of other functions may be among them."""
    values = {**DEFAULTS, **{name: value for name, value in given.items() if name in DEFAULTS}}
    return kernel_from_options(set(given), **values)


def settings(tmp_path, **changes):
    values = {
        "start": None,
        "objects": None,
        "participant_column": None,
        "test": None,
        "holdout": 0.0,
        "shuffle": False,
    }
    values |= {"seed": 0, "dimensions": 2, "out": tmp_path, "checkpoint_every": 0, "resume": False}
    return Settings(**{"fresh": ERKLE(3), **values, **changes})


def test_options_make_a_kernel_a_loss_and_a_step():
    assert kernel() == LowRank()
    assert kernel(rank="3", trace=0.1, consolidate="0.2") == LowRank(3, 0.1, 0.2)
    assert kernel(exact=True, tol=0.1) == Dense(0.1)
    assert loss_from_text("ckl:mu=0.1") == CKL(0.1)
    assert step_from_text("PA1: margin=2, c=3") == PassiveAggressiveI(2.0, 3.0)


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ({"loss": "ste"}, ["--loss", "--exact"]),
        ({"step": "pa1"}, ["--step", "--exact"]),
        ({"direction": "gradient"}, ["--direction", "--exact"]),
        ({"start": Path("kernel.npz"), "passes": 2}, ["--start", "--passes"]),
        ({"tol": 0.1}, ["--tol", "--exact"]),
        ({"tol": 0.1, "rank": "3"}, ["--tol", "--exact"]),
        ({"trace": 0.1}, ["--trace", "--rank"]),
        ({"exact": True, "rank": "3"}, ["--exact", "--rank"]),
        ({"exact": True, "trace": 0.1}, ["--exact", "--trace"]),
        ({"exact": True, "consolidate": "off"}, ["--exact", "--consolidate"]),
        ({"rank": "3", "consolidate": "0.1", "loss": "ste"}, ["--loss", "--consolidate"]),
        ({"start": Path("kernel.npz"), "exact": True}, ["--start", "--exact"]),
        ({"start": Path("kernel.npz"), "rank": "3"}, ["--start", "--rank"]),
        ({"rank": "many"}, ["--rank is 'many'", "auto"]),
        ({"consolidate": "often"}, ["--consolidate is 'often'", "auto", "off"]),
    ],
)
def test_options_without_effect_on_the_kernel_are_refused(given, values):
    with pytest.raises(ValueError, match=".*".join(values)):
        kernel(**given)


@pytest.mark.parametrize(
    ("read", "text", "values"),
    [
        (loss_from_text, "hinge", ["--loss is 'hinge'", "ste, gnmds, ckl, tste"]),
        (loss_from_text, "ste:mu=1", ["--loss ste", "'mu'"]),
        (step_from_text, "pa1:C=x", ["--step", "'C=x'"]),
        (step_from_text, "pa1:D=1", ["--step pa1", "'d'", "margin, C, probability"]),
        (step_from_text, "pa:probability=0.4", ["0.4", "0.5"]),
        (step_from_text, "pa:margin=2,probability=0.9", ["--step", "twice"]),
        (step_from_text, "constant:rate=-1", ["rate", "-1"]),
    ],
)
def test_a_loss_or_step_that_does_not_exist_is_refused(read, text, values):
    with pytest.raises(ValueError, match=".*".join(values)):
        read(text)


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({"holdout": 1.0}, "--holdout is 1.0"),
        ({"holdout": 0.1, "test": Path("test.csv")}, "--holdout and --test"),
        ({"start": Path("kernel.npz"), "objects": Path("objects.csv")}, "--start and --objects"),
        ({"seed": -1}, "--seed is -1"),
        ({"dimensions": 0}, "--dimensions is 0"),
        ({"checkpoint_every": -1}, "--checkpoint-every is -1"),
        ({"fresh": ERKLE(3, kernel=Dense(), direction="up")}, "--direction is 'up'"),
        ({"fresh": ERKLE(3, kernel=Dense(), passes=0)}, "--passes is 0"),
        ({"fresh": ERKLE(3, kernel=Dense(tol=0.0))}, "--tol is 0"),
        ({"fresh": ERKLE(3, kernel=LowRank(0))}, "--rank is 0"),
        ({"fresh": ERKLE(3, kernel=LowRank(3, consolidate=-1.0))}, "--consolidate is -1"),
    ],
)
def test_a_wrong_value_is_refused_with_its_option(changes, value, tmp_path):
    with pytest.raises(ValueError, match=value):
        settings(tmp_path, **changes)


@pytest.mark.parametrize(
    "options", [["--tol", "0.1"], ["--holdout", "1"], ["--exact", "--loss", "hinge"]], ids=" ".join
)
def test_the_command_refuses_in_one_line_and_writes_nothing(erkle, options, answers, tmp_path):
    run = erkle("learn", answers, *options, "--out", tmp_path / "out")
    assert run.returncode == 2
    assert run.refusal[0].startswith("erkle: --")
    assert len(run.refusal) == 1
    assert listing(tmp_path) == []


@pytest.mark.usefixtures("without_pictures")
def test_a_loss_with_an_answer_model_is_learned(erkle, answers, tmp_path):
    loss = "power:sensitivity=2,power=0.5,lapse=0.1"
    run = erkle("learn", answers, "--exact", "--step", "constant", "--loss", loss, "--out", tmp_path)
    assert run.returncode == 0, run.stderr
    settings = json.loads((tmp_path / "summary.json").read_text())["settings"]
    assert settings["loss"] == repr(AnswerModel(2.0, 0.5, 0.1))
    for setting in ("power=2", "lapse=0.7", "sensitivity=nan"):
        run = erkle("learn", answers, "--exact", "--step", "constant", "--loss", f"power:{setting}", "--out", tmp_path)
        assert run.returncode == 2
        assert setting.split("=")[0] in run.refusal[-1]
        assert len(run.refusal) == 1


def test_standard_input_is_not_shuffled(erkle, tmp_path):
    run = erkle("learn", "-", "--shuffle", "--out", tmp_path)
    assert run.returncode == 2
    assert "--shuffle" in run.stderr
