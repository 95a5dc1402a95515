"""`erkle learn`: its options."""

from pathlib import Path
from typing import Annotated, Any

import typer

from erkle.cli.options import Out, given_options, results_folder


def learn(
    context: typer.Context,
    answers: Annotated[str, typer.Argument(help="CSV, TSV or JSONL file of answers, or - for standard input.")],
    start: Annotated[Path | None, typer.Option(help="A kernel.npz to go on with, with its settings.")] = None,
    objects: Annotated[Path | None, typer.Option(help="File of the objects: names, or id and name.")] = None,
    rank: Annotated[str, typer.Option(help="Largest rank of the kernel; auto chooses it, and how to learn.")] = "auto",
    trace: Annotated[float | None, typer.Option(help="Weight of the trace, for a --rank that is a number.")] = None,
    consolidate: Annotated[
        str,
        typer.Option(
            help="When all answers are fitted again: off, or a share such as 0.05, whenever there are so many more; "
            "auto chooses where the rank is auto, and is off elsewhere."
        ),
    ] = "auto",
    exact: Annotated[
        bool, typer.Option("--exact", help="Learn the paper's exact kernel, of any rank, for up to some 1000 objects.")
    ] = False,
    loss: Annotated[
        str, typer.Option(help="ste, gnmds, ckl, tste or soe; with settings as in [b]ckl:mu=0.1[/b].")
    ] = "gnmds",
    step: Annotated[
        str,
        typer.Option(
            help="pa, pa1, pa2 (passive-aggressive), constant, inverse or inverse-sqrt; with settings as in "
            "[b]pa1:C=0.1[/b], [b]pa:probability=0.9[/b] or [b]constant:rate=0.5[/b]."
        ),
    ] = "pa",
    direction: Annotated[str, typer.Option(help="canonical (the paper's) or gradient.")] = "canonical",
    passes: Annotated[int, typer.Option(help="How often to learn: with 3, two old answers follow each new one.")] = 1,
    tol: Annotated[float, typer.Option(help="Relative residual of the eigenpair of a projection.")] = 1e-2,
    seed: Annotated[int, typer.Option(help="Decides what is replayed and held out, and the order of --shuffle.")] = 0,
    test: Annotated[Path | None, typer.Option(help="File of answers to measure the error on.")] = None,
    holdout: Annotated[float, typer.Option(help="Share of the questions kept from learning for that instead.")] = 0.0,
    shuffle: Annotated[bool, typer.Option("--shuffle", help="Learn in a random order, not the file's.")] = False,
    participant: Annotated[
        str | None, typer.Option(help="Column of the file that says who answered; who disagrees is told.")
    ] = None,
    dimensions: Annotated[int, typer.Option(help="Number of coordinates in embedding.csv.")] = 2,
    out: Out = Path("erkle-out"),
    checkpoint_every: Annotated[int, typer.Option(help="Answers between two checkpoints; 0 for none.")] = 20_000,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in --out.")] = False,
) -> None:
    """Learn a kernel, a map and an error curve from answers, one at a time."""
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
    )
    if answers == "-" and shuffle:
        raise ValueError("--shuffle needs all answers at once, but - is a stream; pass a file.")
    if answers == "-" and participant is not None:
        raise ValueError("--participant reads the answers again in the end, but - is a stream; pass a file.")
    with results_folder(out):
        finished = learn_stream(settings) if answers == "-" else learn_file(Path(answers), settings)
    if not finished:
        raise typer.Exit(130)
