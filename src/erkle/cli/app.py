"""The commands and their options; what they do is in the other files of this folder."""

import math
from pathlib import Path
from typing import Annotated

import typer

from erkle.cli import account, data, study

app = typer.Typer(
    help="Learn the similarity of things from answers to one question: is A more like B or like C?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(data.app, name="data")
app.add_typer(study.app, name="study")
app.add_typer(account.app, name="account")

Out = Annotated[Path, typer.Option(help="Folder for the results.")]


@app.command()
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
    worker: Annotated[
        str | None, typer.Option(help="Column of the file that says who answered; who disagrees is told.")
    ] = None,
    dimensions: Annotated[int, typer.Option(help="Number of coordinates in embedding.csv.")] = 2,
    out: Out = Path("erkle-out"),
    checkpoint_every: Annotated[int, typer.Option(help="Answers between two checkpoints; 0 for none.")] = 20_000,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in --out.")] = False,
) -> None:
    """Learn a kernel, a map and an error curve from answers, one at a time."""
    from erkle.cli.folder import results_folder
    from erkle.cli.learn.kernel_options import kernel_from_options
    from erkle.cli.learn.learning import learn_file, learn_stream
    from erkle.cli.learn.loss_and_step_options import loss_from_text, step_from_text
    from erkle.cli.learn.settings import Settings

    settings = Settings(
        kernel=kernel_from_options(_given(context), exact, rank, trace, consolidate),
        loss=loss_from_text(loss),
        step=step_from_text(step),
        direction=direction,
        passes=passes,
        tol=tol,
        seed=seed,
        start=start,
        objects=objects,
        worker=worker,
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
    if answers == "-" and worker is not None:
        raise ValueError("--worker reads the answers again in the end, but - is a stream; pass a file.")
    with results_folder(out):
        finished = learn_stream(settings) if answers == "-" else learn_file(Path(answers), settings)
    if not finished:
        raise typer.Exit(130)


@app.command()
def demo(
    answers: Annotated[int, typer.Option(help="Number of simulated answers.")] = 10_000,
    wrong: Annotated[float, typer.Option(help="Share of them that are wrong.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Decides the questions and the wrong answers.")] = 0,
    out: Out = Path("erkle-demo"),
) -> None:
    """Learn a map of Europe from answers to "is Paris nearer to Lyon or to Madrid?", a tenth of them wrong."""
    from erkle.cli.demo import run_demo
    from erkle.cli.folder import results_folder

    with results_folder(out):
        run_demo(answers, wrong, seed, out)


@app.command()
def info(
    file: Annotated[Path, typer.Argument(help="A file of answers, or a kernel.npz.")],
) -> None:
    """Describe a file of answers (objects, duplicates, conflicts) or what a saved kernel has learned."""
    from erkle.cli.info import describe

    describe(file)


@app.command()
def reproduce(
    figures: Annotated[list[str] | None, typer.Argument(help="1a 1b 1c 2a 2b 3a 3b 3c 4a 4b, or all.")] = None,
    trials: Annotated[int, typer.Option(help="How often each experiment is repeated; the paper says 10.")] = 3,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, for a look: minutes in place of hours.")] = False,
    mini_batch: Annotated[int | None, typer.Option(help="Answers between two batch fits; the paper says 100.")] = None,
    traces: Annotated[int | None, typer.Option(help="Number of settings each batch method tries.")] = None,
    jobs: Annotated[int, typer.Option(help="Processes at once; -1 for one a core.")] = -1,
    backend: Annotated[str, typer.Option(help="processes, or dask with --scheduler.")] = "processes",
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with data sets, in place of ERKLE_DATA.")] = None,
    scenes: Annotated[
        Path | None, typer.Option(help="File of answers for 4a and 4b, in place of the stand-in.")
    ] = None,
    out: Out = Path("erkle-reproduce"),
) -> None:
    """Reproduce figures of the paper: data, pictures and a verdict on each of its claims."""
    import os
    import sys

    from erkle.cli.reproduce import reproduce as run
    from erkle.experiments.protocol import PAPER, QUICK

    if backend not in ("processes", "dask") or (backend == "dask") != (scheduler is not None):
        raise ValueError(f"--backend is {backend!r}; pass processes, or dask together with --scheduler ADDRESS.")
    for name, number in (("trials", trials), ("mini-batch", mini_batch), ("traces", traces)):
        if number is not None and number < 1:
            raise ValueError(f"--{name} is {number}; pass at least 1.")
    _check_jobs(jobs)
    if data is not None:
        os.environ["ERKLE_DATA"] = str(data.resolve())
    protocol = QUICK if quick else PAPER
    protocol = protocol._replace(mini_batch=mini_batch or protocol.mini_batch, n_traces=traces or protocol.n_traces)
    if scenes is not None:
        # Workers of a cluster have other working folders than we.
        protocol = protocol._replace(scenes=str(scenes.resolve()))
    command = " ".join(["erkle", *sys.argv[1:]])
    run(figures or [], protocol, trials, jobs, scheduler, command, out)


@app.command()
def simulate(
    context: typer.Context,
    world: Annotated[
        str, typer.Argument(help="points, or a data set of people's answers that [b]erkle data list[/b] shows.")
    ] = "points",
    strategies: Annotated[
        str, typer.Option(help="Of adaptive, random, balanced, uncertainty, change and information, with commas.")
    ] = "adaptive,random",
    per_object: Annotated[int, typer.Option(help="Answers an object, at most.")] = 40,
    objects: Annotated[int, typer.Option(help="Number of points.")] = 90,
    dimensions: Annotated[int, typer.Option(help="Of the points.")] = 2,
    slope: Annotated[
        float, typer.Option(help="How surely points answer: 0 tosses a coin, inf is always right.")
    ] = math.inf,
    flipped: Annotated[float, typer.Option(help="Share of answers of points that are turned round besides.")] = 0.0,
    in_flight: Annotated[int, typer.Option(help="Participants at once, each with a question before them.")] = 1,
    rate: Annotated[float, typer.Option(help="Answers a second of all participants; decides how long they wait.")] = 10,
    holdout: Annotated[float, typer.Option(help="Share of questions drawn at random, which tell the error.")] = 0.1,
    seeds: Annotated[int, typer.Option(help="How often each strategy is tried, in another world each time.")] = 10,
    jobs: Annotated[int, typer.Option(help="Processes at once; -1 for one a core.")] = -1,
    data: Annotated[Path | None, typer.Option(help="Folder with data sets, in place of ERKLE_DATA.")] = None,
    out: Out = Path("erkle-simulate"),
) -> None:
    """Try strategies of asking against each other on simulated people: errors, answers saved, waits."""
    from erkle.cli.folder import results_folder
    from erkle.cli.simulate import checked_plan, checked_seeds, checked_strategies, checked_world
    from erkle.cli.simulate import simulate as run

    names = checked_strategies(strategies)
    checked_seeds(seeds)
    _check_jobs(jobs)
    chosen = checked_world(world, _given(context), objects, dimensions, slope, flipped, data)
    plan = checked_plan(chosen, per_object, in_flight, rate, holdout)
    with results_folder(out):
        finished = run(plan, names, seeds, jobs, out)
    if not finished:
        raise typer.Exit(130)


@app.command()
def serve(
    data: Annotated[
        Path | None, typer.Option(help="Folder of the data, by default erkle-data.", envvar="ERKLE_SERVER_DATA")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all of this machine.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any that is free.")] = 8000,
    database: Annotated[
        str | None, typer.Option(help="URL of a PostgreSQL database, in place of a file in the folder.")
    ] = None,
    public_url: Annotated[
        str | None, typer.Option(help="Where people reach the service, such as https://study.example.org.")
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None, typer.Option(help="Address of a reverse proxy whose headers are believed; may be repeated.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Number of processes.")] = 1,
    demo: Annotated[
        bool, typer.Option("--demo", help="Show a study of cities that simulated people answer at once.")
    ] = False,
) -> None:
    """Serve studies: people answer in the browser, and the map forms while they do."""
    from erkle.cli.serve import configured, folder_of
    from erkle.cli.serve import serve as run

    with folder_of(data, demo) as folder:
        run(configured(folder, database, public_url, trusted_proxy), host, port, workers, demo)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="File to write the copy to.")],
    data: study.Data = study.HERE,
    database: study.Database = None,
) -> None:
    """Copy the data of the service to a file, whole and at one moment, while it runs."""
    from erkle.cli.server_data import back_up, opened

    with opened(data, database) as store:
        back_up(store, file)


def _given(context: typer.Context) -> set[str]:
    """Names of the options that stand on the command line."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}


def _check_jobs(jobs: int) -> None:
    if jobs < -1 or jobs == 0:
        raise ValueError(f"--jobs is {jobs}; pass a number of processes, or -1 for one a core.")


def _show_version(wanted: bool) -> None:
    if wanted:
        from erkle import __version__

        typer.echo(f"erkle {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass
