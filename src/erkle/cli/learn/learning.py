"""Learn a file, which is checked first, or standard input, which is learned as it arrives."""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from erkle import triplets
from erkle.cli.features import listed
from erkle.cli.learn.curve import ShowCurve
from erkle.cli.learn.findings import FileWarnings
from erkle.cli.learn.interruption import Interruption, watching
from erkle.cli.learn.map_quality import map_quality
from erkle.cli.learn.participants import compare_participants, participants_of
from erkle.cli.learn.report import Report, write_report
from erkle.cli.learn.run import Names, Run, known_names
from erkle.cli.learn.settings import Settings
from erkle.cli.learn.standard_input import StandardInput
from erkle.cli.screen import checking_bar, compile_first, console, counted, learning_bar
from erkle.cluster import ClusterError
from erkle.conflicts import find
from erkle.features.reading import LOOK_ALIKE, look_alike
from erkle.interruption import uninterrupted
from erkle.triplets import Chunk, Labels, Reader

# Answers per chunk if they are shuffled.
_SHUFFLED_CHUNK = 1 << 15


class Position(NamedTuple):
    """A position in a file: the end of a chunk, its line number, and the rows used after it."""

    offset: int
    line: int
    rows: int


class Contents(NamedTuple):
    """The result of reading a file once; it keeps the answers and participants only if they will be shuffled.

    ``size`` and ``fingerprint`` are those of the file, to notice that it has changed.
    """

    labels: Labels
    n_answers: int
    size: int
    fingerprint: str
    held_out: NDArray[np.int64]
    answers: NDArray[np.int32] | None
    participants: Names


def learn_file(path: Path, settings: Settings) -> bool:
    """Learn a file. Returns False if it was interrupted; then there is a checkpoint to resume from."""
    _prepare(settings)
    contents = _check(path, settings)
    test = _test_answers(settings, contents.labels) if settings.test else contents.held_out
    run = Run(settings, contents.labels, test)
    position = _resumed(run, path, contents.size) if run.checkpoint.exists() else Position(0, 0, 0)
    compile_first(settings.template)
    n_to_learn = contents.n_answers - len(contents.held_out)
    with watching() as interruption, learning_bar(n_to_learn) as show:
        position = _learn_all(path, contents, position, run, show, interruption)
    if interruption.asked:
        _say_how_to_continue(run)
        if interruption.error:
            raise interruption.error
        return False
    try:
        _finish(run, contents.n_answers, path)
    except ClusterError:
        run.save({"position": position, "covered": contents.size, "fingerprint": contents.fingerprint})
        _say_how_to_continue(run)
        raise
    return True


def _say_how_to_continue(run: Run) -> None:
    after = f"Stopped after {counted(run.curve.n_answers, 'answer')}"
    console.print(f"{after}; add --resume to the same command to continue." if run.learner else f"{after}.")


def learn_stream(settings: Settings) -> bool:
    """Learn standard input line by line. The results are written even if Ctrl-C ends it; then this returns False."""
    _prepare(settings)
    labels = Labels(known_names(settings))
    run = Run(settings, labels, _test_answers(settings, labels), is_stream=True)
    if run.checkpoint.exists():
        if "position" in run.resume():
            raise ValueError(f"{run.checkpoint} was made from a file; resume with that file, or choose another --out.")
        console.print(f"Continuing after {run.curve.n_answers:,} answers.", style="dim")
    compile_first(settings.template)
    if sys.stdin.isatty():
        column = settings.participant_column
        first = f"First type a header: anchor,near,far,{column}. Then type" if column else "Type"
        line = f"anchor,near,far{',participant' * bool(column)}"
        console.print(f"{first} one answer per line, as {line}. Press Ctrl-D to end.", style="dim")
    try:
        with watching() as interruption, learning_bar(None) as show:
            _listen(run, show, interruption)
    except (ValueError, MemoryError):
        # A wrong line, or one object too many, ends the stream; what was learned before is still written.
        if run.curve.n_answers:
            _finish(run, run.curve.n_answers)
        raise
    try:
        if interruption.error:
            raise interruption.error
        _finish(run, run.curve.n_answers)
    except ClusterError:
        run.save()
        _say_how_to_continue(run)
        raise
    return not interruption.asked


def _learn_all(
    path: Path, contents: Contents, at: Position, run: Run, show: ShowCurve, interruption: Interruption
) -> Position:
    """Learn to the end, or until an interruption, which writes a checkpoint; return the position reached."""
    with Reader(path, run.labels, frozen=True, column=run.settings.participant_column) as reader:
        if reader.fingerprint(contents.size) != contents.fingerprint:
            raise ValueError(f"{path} has changed since it was checked; start again once nobody writes to it.")
        for chunk in _chunks(reader, contents, at, run.settings.seed):
            T, participants = chunk.triplets, _participants(chunk, run.settings)
            skipped = min(at.rows, len(T))
            still_to_skip, at = at.rows - skipped, at._replace(rows=skipped)
            while at.rows < len(T):
                rest = None if participants is None else participants[at.rows :]
                at = at._replace(rows=at.rows + run.learn(T[at.rows :], rest, show, interruption))
                if run.learner is not None and (interruption.asked or run.checkpoint_is_due()):
                    run.save({"position": at, **_covered(reader, chunk, contents)})
                if interruption.asked:
                    return at
            at = Position(chunk.end_offset, chunk.line, still_to_skip)
    return at


def _covered(reader: Reader, chunk: Chunk, contents: Contents) -> dict[str, object]:
    """The part of the file that a checkpoint depends on, and its fingerprint: all of it if answers are shuffled."""
    if contents.answers is not None:
        return {"covered": contents.size, "fingerprint": contents.fingerprint}
    return {"covered": chunk.end_offset, "fingerprint": reader.fingerprint(chunk.end_offset)}


def _chunks(reader: Reader, contents: Contents, at: Position, seed: int) -> Iterator[Chunk]:
    """The answers, read from the file again or shuffled from memory; offsets of shuffled answers count rows."""
    if contents.answers is None:
        reader.seek(at.offset, at.line)
        yield from reader
        return
    order = np.random.default_rng(seed).permutation(contents.n_answers)
    for start in range(at.offset, contents.n_answers, _SHUFFLED_CHUNK):
        rows = order[start : start + _SHUFFLED_CHUNK]
        T = contents.answers[rows].astype(np.int64)
        yield Chunk(T, start + len(T), 0, () if contents.participants is None else contents.participants[rows].tolist())


def _participants(chunk: Chunk, settings: Settings) -> Names:
    """The participant of each answer, if the column was read."""
    return None if settings.participant_column is None else np.array(chunk.column, dtype=np.object_)


def _listen(run: Run, show: ShowCurve, interruption: Interruption) -> None:
    settings = run.settings
    frozen, column = settings.objects is not None, settings.participant_column

    def save_if_due() -> None:
        if run.checkpoint_is_due():
            with interruption.deferred():
                _save_if_possible(run)

    # What was learned is also saved while no line arrives.
    source = StandardInput(sys.stdin.buffer, run.seconds_until_checkpoint, save_if_due)
    reader = Reader(cast(BinaryIO, source), run.labels, frozen, name="standard input", column=column)
    interruption.run(partial(_learn_chunks, reader, run, show, interruption, save_if_due))


def _learn_chunks(
    reader: Reader, run: Run, show: ShowCurve, interruption: Interruption, save_if_due: Callable[[], None]
) -> None:
    for chunk in reader:
        T, participants = chunk.triplets, _participants(chunk, run.settings)
        run.hold_out(T)
        while len(T) and not interruption.asked:
            used = run.learn(T, participants, show, interruption)
            T, participants = T[used:], None if participants is None else participants[used:]
            save_if_due()
        if interruption.asked:
            if len(T):
                console.print(f"{counted(len(T), 'answer')} had already arrived and will not be learned.")
            return


def _save_if_possible(run: Run) -> None:
    """Save a checkpoint if the disk allows it. A stream cannot be read again, so learning must go on."""
    try:
        run.save()
    except OSError as error:
        console.print(f"No checkpoint: {error.strerror} Learning continues.", style="yellow")


def _prepare(settings: Settings) -> None:
    checkpoint = settings.out / "checkpoint.npz"
    if checkpoint.exists() and not settings.resume:
        raise ValueError(
            f"{settings.out} contains the checkpoint of an unfinished run; add --resume to continue it, "
            f"or delete {checkpoint} to start again."
        )
    if settings.resume and not checkpoint.exists():
        console.print(f"There is no checkpoint in {settings.out}; starting with the first answer.", style="dim")


def _check(path: Path, settings: Settings) -> Contents:
    """Read the file once, so that an error on its last line is found before hours of learning."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ValueError(f"{path} is a pipe or a device, which cannot be read twice; run: erkle learn - < {path}")
    labels = Labels(known_names(settings))
    found = FileWarnings()
    answers, held_out = [np.empty((0, 3), np.int32)], [np.empty((0, 3), np.int64)]
    participants: list[str] = []
    names: dict[str, str] = {}
    known, are_about = settings.known, False
    reader = Reader(path, labels, settings.objects is not None, column=settings.participant_column)
    with reader, checking_bar(path.name, reader.size) as bar:
        for chunk in reader:
            T = chunk.triplets
            found.add(T)
            are_about = are_about or (known is not None and known.are_about(T))
            held_out.append(T[triplets.held_out(T, settings.holdout, settings.seed)])
            if settings.shuffle:
                answers.append(T.astype(np.int32))
                # The same text is kept once, however many answers it has.
                participants += (names.setdefault(name, name) for name in chunk.column)
            bar.update(bar.task_ids[0], completed=chunk.end_offset)
    everything = np.concatenate(answers) if settings.shuffle else None
    kept = np.array(participants, dtype=np.object_) if settings.shuffle and settings.participant_column else None
    size = reader.size or 0
    contents = Contents(
        labels, found.n_answers, size, reader.fingerprint(size), np.concatenate(held_out), everything, kept
    )
    if len(contents.held_out) == found.n_answers:
        raise ValueError(f"--holdout {settings.holdout} holds out every answer of {path}; pass a smaller share.")
    if known and not are_about and not settings.resume:
        answered = labels.names[len(known.ids) :]
        remedy = (
            LOOK_ALIKE if look_alike(known.ids, answered) else "use the same names, or list ids and names in --objects."
        )
        raise ValueError(
            f"No object in {path.name} has features{listed(answered) if answered else ''}; the features are those of "
            f"other objects{listed(known.ids)}; {remedy}"
        )
    if not settings.resume:
        for sentence in found.sentences(path.name, labels, settings.shuffle):
            console.print(sentence, style="yellow")
        _say_what_does_not_match(settings, labels)
    return contents


def _say_what_does_not_match(settings: Settings, labels: Labels) -> None:
    """Sentences about objects without features, and about features that belong to no object."""
    if settings.known:
        objects = str(settings.objects) if settings.objects else "the answers"
        for sentence in (settings.known.ignored(objects), settings.known.without(labels.names)):
            if sentence:
                console.print(sentence, style="yellow")


def _test_answers(settings: Settings, labels: Labels) -> NDArray[np.int64]:
    if settings.test is None:
        return np.empty((0, 3), np.int64)
    return triplets.read(settings.test, labels, frozen=settings.objects is not None).triplets


def _resumed(run: Run, path: Path, size: int) -> Position:
    source = run.resume()
    covered = source["covered"]
    # A file that has grown would be shuffled differently.
    grown = run.settings.shuffle and size > covered
    with Reader(path) as reader:
        is_same = size >= covered and not grown and reader.fingerprint(covered) == source["fingerprint"]
    if not is_same:
        raise ValueError(
            f"{path} is not the file that {run.checkpoint} was made from; resume with the same file, "
            "or choose another --out."
        )
    console.print(f"Continuing after {run.curve.n_answers:,} answers.", style="dim")
    return Position(*source["position"])


def _finish(run: Run, n_answers: int, path: Path | None = None) -> None:
    """Write the results. A stream has no path."""
    source = "standard input" if path is None else str(path)
    learner, settings = run.learner, run.settings
    if learner is None or not run.curve.n_answers:
        raise ValueError(f"{source} contained no answer to learn; nothing was written.")
    run.finish()
    if path is None:
        # Only now is it known which objects the answers name.
        _say_what_does_not_match(settings, run.labels)
    names = settings.object_list.names if settings.object_list else run.labels.names
    # A stream may have ended before the last objects it named were learned.
    names = names[: learner.n_objects_]
    history, wanted = learner.history_, settings.participant_column is not None
    found = None if history is None else find(history, participants_of(learner) if wanted else None)
    compared = compare_participants(learner, found and found.participants) if wanted else None
    quality = map_quality(learner, run.test, run.curve.points[-1, 3])
    report = Report(learner, names, run.curve, settings, source, n_answers, len(run.test), quality, found, compared)
    with uninterrupted():
        write_report(report)
        run.checkpoint.unlink(missing_ok=True)
