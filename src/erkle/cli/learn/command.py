"""`erkle learn`: its options, which are checked before any work begins."""

from pathlib import Path
from typing import Annotated, Any

import typer

from erkle.cli.options import Out, Scheduler, check_backend, given_options, results_folder
from erkle.cli.screen import waiting

# Heading of the options that the default learner does not use.
_RULE = "Update rule, with --exact or a number for --rank"


def learn(
    context: typer.Context,
    answers: Annotated[
        str,
        typer.Argument(
            help="Answer file (CSV, TSV, JSONL, Parquet or Arrow), folder of Parquet files, or - for standard input."
        ),
    ],
    start: Annotated[
        Path | None, typer.Option(help="Continue with the learner in this kernel.npz, with its settings.")
    ] = None,
    objects: Annotated[Path | None, typer.Option(help="File that lists the objects: names, or ids and names.")] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE",
            help="File with what is known about the objects: CSV or Parquet with a column of names, NPZ or NPY. "
            "May be repeated; NAME is the name of the features.",
        ),
    ] = None,
    rank: Annotated[
        str, typer.Option(help="Largest rank of the kernel; with auto, the learner chooses all settings.")
    ] = "auto",
    trace: Annotated[float | None, typer.Option(help="Weight of the trace, if --rank is a number.")] = None,
    consolidate: Annotated[
        str,
        typer.Option(
            help="When to fit all answers again: off for never, or a share such as 0.05 for each time the number of "
            "answers has grown by 5 %; auto lets the learner choose if --rank is auto, and means off otherwise."
        ),
    ] = "auto",
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Use the exact kernel of the paper, of any rank, for up to about 1,000 objects."),
    ] = False,
    loss: Annotated[
        str,
        typer.Option(
            help="Loss: ste, gnmds, ckl, tste, soe or power; with settings as in [b]ckl:mu=0.1[/b].",
            rich_help_panel=_RULE,
        ),
    ] = "gnmds",
    step: Annotated[
        str,
        typer.Option(
            help="Step: pa, pa1, pa2 (passive-aggressive), constant, inverse or inverse-sqrt; with settings as in "
            "[b]pa1:C=0.1[/b], [b]pa:probability=0.9[/b] or [b]constant:rate=0.5[/b].",
            rich_help_panel=_RULE,
        ),
    ] = "pa",
    direction: Annotated[
        str,
        typer.Option(help="Direction of an update: canonical (as in the paper) or gradient.", rich_help_panel=_RULE),
    ] = "canonical",
    passes: Annotated[
        int,
        typer.Option(
            help="Updates per answer: with 3, each new answer is followed by two earlier ones.", rich_help_panel=_RULE
        ),
    ] = 1,
    tol: Annotated[
        float, typer.Option(help="With --exact: relative residual of the eigenpair in a projection.")
    ] = 1e-2,
    seed: Annotated[int, typer.Option(help="Seed of --holdout, --shuffle and everything else that is random.")] = 0,
    test: Annotated[Path | None, typer.Option(help="Answer file to measure the error on.")] = None,
    holdout: Annotated[float, typer.Option(help="Share of the questions to hold out for measuring the error.")] = 0.0,
    shuffle: Annotated[bool, typer.Option("--shuffle", help="Learn the answers in random order.")] = False,
    participant: Annotated[
        str | None,
        typer.Option(
            help="Column with the participant: answers of participants who slip more count less, and participants who "
            "answer at random or disagree are reported."
        ),
    ] = None,
    dimensions: Annotated[int, typer.Option(help="Number of coordinates in embedding.csv.")] = 2,
    out: Out = Path("erkle-out"),
    checkpoint_every: Annotated[int, typer.Option(help="Answers between two checkpoints; 0 for none.")] = 20_000,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the checkpoint in --out.")] = False,
    backend: Annotated[
        str, typer.Option(help="Where to fit a million answers or more: threads, or dask with --scheduler.")
    ] = "threads",
    scheduler: Scheduler = None,
) -> None:
    """Learn a kernel from answers, and write it with a map, an error curve and a summary."""
    check_backend(backend, scheduler, "threads")
    with waiting("Loading libraries" if answers == "-" else f"Reading {answers}"):
        from erkle.cli.learn.fitting import fitting_at
        from erkle.cli.learn.learning import learn_file, learn_stream
        from erkle.cli.learn.settings import Settings, kernel_from_options, loss_from_text, step_from_text
        from erkle.online import ERKLE

    kernel = kernel_from_options(given_options(context), exact, rank, trace, consolidate, tol)
    rule: dict[str, Any] = {}
    if kernel.follows_rule:
        rule = {"loss": loss_from_text(loss), "step": step_from_text(step), "direction": direction}
    fresh = ERKLE(3, kernel=kernel, passes=passes, random_state=seed, **rule)
    settings = Settings(
        fresh=fresh,
        seed=seed,
        start=start,
        objects=objects,
        participant_column=participant,
        test=test,
        holdout=holdout,
        shuffle=shuffle,
        dimensions=dimensions,
        out=out,
        checkpoint_every=checkpoint_every,
        resume=resume,
        features=tuple(features or ()),
    )
    if answers == "-" and shuffle:
        raise ValueError("--shuffle needs all answers at once and cannot read standard input; pass a file.")
    if scheduler and not settings.template.kernel.consolidates:
        raise ValueError("--backend dask was given, but this learner fits nothing; omit it, or see --consolidate.")
    with results_folder(out), fitting_at(scheduler):
        finished = learn_stream(settings) if answers == "-" else learn_file(Path(answers), settings)
    if not finished:
        raise typer.Exit(130)
