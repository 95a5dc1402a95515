"""`erkle learn`: a file is checked whole and then learned in order; a stream is learned as it arrives."""

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle import triplets
from erkle.cli.learn.curve import ShowCurve
from erkle.cli.learn.findings import FileWarnings
from erkle.cli.learn.interruption import Interruption, watching
from erkle.cli.learn.participants import compare_participants
from erkle.cli.learn.report import Report, write_report
from erkle.cli.learn.run import Run, known_names
from erkle.cli.learn.settings import Settings
from erkle.cli.screen import checking_bar, compile_first, console, counted, learning_bar
from erkle.conflicts import find
from erkle.triplets import Chunk, Labels, Reader

_SHUFFLED_CHUNK = 1 << 15
# Bytes at the beginning of a file, and before a position in it, that a checkpoint knows it by.
_PIECE = 1 << 16


class Position(NamedTuple):
    """How far a file has been used: so many rows behind a byte at the end of a line."""

    offset: int
    line: int
    rows: int


class Contents(NamedTuple):
    """What a first reading of the file has found; the answers themselves only if they are to be shuffled."""

    labels: Labels
    n_answers: int
    held_out: NDArray[np.int64]
    answers: NDArray[np.int32] | None


def learn_file(path: Path, settings: Settings) -> bool:
    """Learn a file; False if somebody interrupted it, in which case there is a checkpoint to resume from."""
    _prepare(settings)
    contents = _check(path, settings)
    test = _test_answers(settings, contents.labels) if settings.test else contents.held_out
    run = Run(settings, contents.labels, test)
    position = _resumed(run, path) if run.checkpoint.exists() else Position(0, 0, 0)
    compile_first(settings.template)
    n_to_learn = contents.n_answers - len(contents.held_out)
    with watching() as interruption, learning_bar(n_to_learn) as show, interruption.deferred():
        _learn_all(path, contents, position, run, show, interruption)
    if interruption.asked:
        after = f"Stopped after {counted(run.curve.n_answers, 'answer')}"
        console.print(f"{after}; the same command with --resume goes on there." if run.learner else f"{after}.")
        return False
    _finish(run, contents.n_answers, path)
    return True


def learn_stream(settings: Settings) -> bool:
    """Learn standard input as lines arrive; Ctrl-C ends it, and what was learned is written all the same."""
    _prepare(settings)
    labels = Labels(known_names(settings))
    run = Run(settings, labels, _test_answers(settings, labels))
    if run.checkpoint.exists():
        run.resume()
    compile_first(settings.template)
    if sys.stdin.isatty():
        console.print("Reading answers from the keyboard: anchor,near,far a line, Ctrl-D to end.", style="dim")
    try:
        with watching() as interruption, learning_bar(None) as show:
            _listen(run, show, interruption)
    except (ValueError, MemoryError):
        # One wrong line, or one object too many, ends the stream, but costs nothing that came before it.
        if run.curve.n_answers:
            _finish(run, run.curve.n_answers)
        raise
    _finish(run, run.curve.n_answers)
    return not interruption.asked


def _learn_all(
    path: Path, contents: Contents, at: Position, run: Run, show: ShowCurve, interruption: Interruption
) -> None:
    """Learn from a position on, to the end or to the checkpoint that an interruption makes."""
    for chunk in _chunks(path, contents, at, run):
        T = chunk.triplets
        skipped = min(at.rows, len(T))
        still_to_skip, at = at.rows - skipped, at._replace(rows=skipped)
        while at.rows < len(T):
            at = at._replace(rows=at.rows + run.learn(T[at.rows :], show, interruption))
            if run.learner is not None and (interruption.asked or run.checkpoint_is_due()):
                covered = chunk.end_offset if contents.answers is None else path.stat().st_size
                run.save({"position": at, "covered": covered, "fingerprint": _fingerprint(path, covered)})
            if interruption.asked:
                return
        at = Position(chunk.end_offset, chunk.line, still_to_skip)


def _chunks(path: Path, contents: Contents, at: Position, run: Run) -> Iterator[Chunk]:
    """The answers in the order of the file, read again, or in a random one, from memory; offsets are rows then."""
    if contents.answers is None:
        with Reader(path, run.labels, frozen=True) as reader:
            reader.seek(at.offset, at.line)
            yield from reader
        return
    order = np.random.default_rng(run.settings.seed).permutation(contents.n_answers)
    for start in range(at.offset, contents.n_answers, _SHUFFLED_CHUNK):
        T = contents.answers[order[start : start + _SHUFFLED_CHUNK]].astype(np.int64)
        yield Chunk(T, start + len(T), 0)


def _listen(run: Run, show: ShowCurve, interruption: Interruption) -> None:
    reader = Reader(sys.stdin.buffer, run.labels, run.settings.objects is not None, name="standard input")
    with interruption.ending_block():
        for chunk in reader:
            T = chunk.triplets
            run.hold_out(T)
            while len(T) and not interruption.asked:
                T = T[run.learn(T, show, interruption) :]
                if run.checkpoint_is_due():
                    with interruption.deferred():
                        _save_if_possible(run)
            if interruption.asked:
                if len(T):
                    console.print(f"{counted(len(T), 'answer')} had arrived and will not be learned.")
                return


def _save_if_possible(run: Run) -> None:
    """A stream cannot be read again: a disk that is full now is no reason to let go of what was learned."""
    try:
        run.save()
    except OSError as trouble:
        console.print(f"No checkpoint: {trouble.strerror} Learning goes on.", style="yellow")


def _prepare(settings: Settings) -> None:
    checkpoint = settings.out / "checkpoint.npz"
    if checkpoint.exists() and not settings.resume:
        raise ValueError(
            f"{settings.out} holds the checkpoint of an unfinished run; add --resume to go on with it, "
            f"or delete {checkpoint} to begin anew."
        )
    if settings.resume and not checkpoint.exists():
        console.print(f"There is no checkpoint in {settings.out}: starting from the first answer.", style="dim")


def _check(path: Path, settings: Settings) -> Contents:
    """Read the file once, so that a mistake on its last line is known before hours of learning."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ValueError(f"{path} is a pipe or a device, which cannot be read twice; use: erkle learn - < {path}")
    labels = Labels(known_names(settings))
    found = FileWarnings()
    answers, held_out = [np.empty((0, 3), np.int32)], [np.empty((0, 3), np.int64)]
    reader = Reader(path, labels, settings.objects is not None, column=settings.participant_column)
    with reader, checking_bar(path.name, reader.size) as bar:
        for chunk in reader:
            T = chunk.triplets
            found.add(T)
            held_out.append(T[triplets.held_out(T, settings.holdout, settings.seed)])
            if settings.shuffle:
                answers.append(T.astype(np.int32))
            bar.update(bar.task_ids[0], completed=chunk.end_offset)
    everything = np.concatenate(answers) if settings.shuffle else None
    contents = Contents(labels, found.n_answers, np.concatenate(held_out), everything)
    if len(contents.held_out) == found.n_answers:
        raise ValueError(f"--holdout {settings.holdout} keeps back every answer of {path}; pass a smaller share.")
    if not settings.resume:
        for sentence in found.sentences(path.name, labels, settings.shuffle):
            console.print(sentence, style="yellow")
    return contents


def _test_answers(settings: Settings, labels: Labels) -> NDArray[np.int64]:
    if settings.test is None:
        return np.empty((0, 3), np.int64)
    return triplets.read(settings.test, labels, frozen=settings.objects is not None).triplets


def _resumed(run: Run, path: Path) -> Position:
    source = run.resume()
    size, covered = path.stat().st_size, source["covered"]
    # A random order is one of all answers: a file that has grown would be another one.
    grown = run.settings.shuffle and size > covered
    if size < covered or grown or _fingerprint(path, covered) != source["fingerprint"]:
        raise ValueError(
            f"{path} is not the file that {run.checkpoint} was made from; resume with that file, "
            "or choose another --out."
        )
    console.print(f"Going on after {run.curve.n_answers:,} answers.", style="dim")
    return Position(*source["position"])


def _fingerprint(path: Path, offset: int) -> str:
    """A hash of the beginning of the file and of what stands just before the offset."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        digest.update(file.read(min(_PIECE, offset)))
        file.seek(max(0, offset - _PIECE))
        digest.update(file.read(min(_PIECE, offset)))
    return digest.hexdigest()


def _finish(run: Run, n_answers: int, path: Path | None = None) -> None:
    """Write the results; of a stream, which has no path, also those of one that ended in an error."""
    source = "standard input" if path is None else str(path)
    learner, settings = run.learner, run.settings
    if learner is None or not run.curve.n_answers:
        raise ValueError(f"{source} ended before there was an answer to learn; nothing was written.")
    run.finish()
    names = settings.object_list.names if settings.object_list else run.labels.names
    # A stream may have named objects that it ended before learning anything about.
    names = names[: learner.n_objects_]
    history = learner.history_
    found = None if history is None else find(history)
    column = settings.participant_column
    judged = compare_participants(path, run.labels, column, learner) if path and column else None
    n_test = len(run.test)
    write_report(Report(learner, names, run.curve, settings, source, n_answers, n_test, found, judged))
    run.checkpoint.unlink(missing_ok=True)
