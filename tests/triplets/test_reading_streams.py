"""Tests of reading in pieces: the answers do not depend on how they arrive or where reading resumes."""

import io
import os
import tracemalloc
from contextlib import suppress
from itertools import islice, pairwise, repeat

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erkle.files import FileError
from erkle.triplets import Reader, ReadError, read, sample

HEADER = b"far,note,anchor,near\n"
LINES = st.sampled_from(
    [
        b"1,,2,3\n",
        b"cat,x,dog,bus\r\n",
        "Zoë, ,cat, dog\n".encode(),
        b'"a, b",x,"1","2"\n',
        b"\n",
        b"  \r\n",
    ]
)
WRONG = st.sampled_from([b"", b"1,2,3\n", b"1,,1,2\n", b"\0\n", b'"\n', b"nan,,1,2", b"\xff"])


class Pipe:
    """A pipe that delivers given pieces of bytes."""

    def __init__(self, pieces):
        self.pieces = iter(pieces)
        self.n_read = 0

    def read1(self, size):
        piece = next(self.pieces, b"")
        self.n_read += len(piece)
        assert len(piece) <= size
        return piece


def outcome(reader):
    """The answers, names, last position and error of a reader."""
    rows, end, error = [], None, None
    try:
        for chunk in reader:
            rows += chunk.triplets.tolist()
            end = chunk[1:3]
    except ReadError as refusal:
        error = str(refusal)
    return rows, reader.labels.names, end, error


def cut(content, places):
    places = sorted({0, len(content), *(place % (len(content) + 1) for place in places)})
    return [content[i:j] for i, j in pairwise(places)]


@given(
    st.sampled_from([b"", b"\xef\xbb\xbf", b"\n\r\n"]),
    st.lists(LINES, max_size=12).map(b"".join),
    WRONG,
    st.lists(LINES, max_size=3).map(b"".join),
    st.lists(st.integers(0, 500), max_size=30),
)
@settings(max_examples=150)
def test_any_split_of_the_bytes_gives_the_same_outcome(start, good, wrong, rest, places):
    content = start + HEADER + good + wrong + rest
    whole = outcome(Reader(io.BytesIO(content)))
    assert outcome(Reader(Pipe(cut(content, places)))) == whole
    assert outcome(Reader(Pipe(bytes([byte]) for byte in content))) == whole


def test_a_line_is_delivered_as_soon_as_it_arrives():
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as source, os.fdopen(writing, "wb", buffering=0) as sink:
        reader = Reader(source)
        assert (reader.name, reader.size) == ("answers", None)
        sink.write(b"anchor,near,far\ncat,do")
        sink.write(b"g,bus\nbus,")
        chunks = iter(reader)
        assert next(chunks).triplets.tolist() == [[0, 1, 2]]
        sink.write(b"tram,cat\n")
        triplets, end, line, _ = next(chunks)
        assert (triplets.tolist(), end, line) == ([[2, 3, 0]], 41, 3)
        sink.write(b"tram,bus,cat")
        sink.close()
        assert [chunk.triplets.tolist() for chunk in chunks] == [[[3, 2, 0]]]
        assert not source.closed


def big_file(path, n_rows=50_000):
    T = sample(500, n_rows, random_state=0)
    text = "\n".join(",".join(map(str, row)) for row in T.tolist())
    path.write_text(f"anchor,near,far\n{text}\n")
    return T


def test_the_chunks_of_a_large_file_hold_all_answers(tmp_path):
    T = big_file(tmp_path / "answers.csv")
    with Reader(tmp_path / "answers.csv") as reader:
        chunks = list(reader)
    assert len(chunks) > 2
    assert chunks[-1].end_offset == reader.size == (tmp_path / "answers.csv").stat().st_size
    assert chunks[-1].line == len(T) + 1
    decoded = reader.labels.decode(np.concatenate([chunk.triplets for chunk in chunks]))
    assert decoded.astype(np.int64).tolist() == T.tolist()


def test_reading_resumes_after_any_chunk(tmp_path):
    big_file(tmp_path / "answers.csv")
    whole = read(tmp_path / "answers.csv")
    n_read = 0
    for chunk in Reader(tmp_path / "answers.csv"):
        n_read += len(chunk.triplets)
        with Reader(tmp_path / "answers.csv", whole.labels, frozen=True) as resumed:
            resumed.seek(chunk.end_offset, chunk.line)
            rest = list(resumed)
        triplets = np.concatenate([np.empty((0, 3), np.int64), *(part.triplets for part in rest)])
        assert np.array_equal(triplets, whole.triplets[n_read:])
        if rest:
            assert rest[-1][1:3] == (resumed.size, len(whole.triplets) + 1)


@given(
    st.sampled_from([b"", HEADER, b"\xef\xbb\xbf" + HEADER, b"\n" + HEADER]),
    st.lists(st.sampled_from([b"1,2,3", b"4,5,6", b"", b'"7",8,9\r']), min_size=1, max_size=8),
    st.data(),
)
def test_reading_resumes_after_any_line(tmp_path_factory, header, lines, data):
    lines = [b"1,2,3", *lines]
    if header:
        lines = [line and b"x," + line for line in lines]
    path = tmp_path_factory.mktemp("resume") / "answers.csv"
    path.write_bytes(header + b"\n".join(lines))
    whole = read(path)
    n_lines = data.draw(st.integers(0, len(lines)))
    offset = min(len(header) + sum(len(line) + 1 for line in lines[:n_lines]), path.stat().st_size)
    with Reader(path, whole.labels) as reader:
        reader.seek(offset, header.count(b"\n") + n_lines)
        rows = [row for chunk in reader for row in chunk.triplets.tolist()]
    n_done = sum(bool(line) for line in lines[:n_lines])
    assert rows == whole.triplets[n_done:].tolist()


def test_line_numbers_continue_after_resuming(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_bytes(b"1,2,3\n4,5,6")
    *_, last = Reader(path)
    path.write_bytes(path.read_bytes() + b"\n7,8,9\n1,1,1\n")
    with Reader(path) as reader:
        reader.seek(last.end_offset, last.line)
        chunks = iter(reader)
        assert next(chunks)[1:3] == (18, 3)
        with pytest.raises(ReadError, match=r"^answers.csv, line 4: .*'1'"):
            next(chunks)


@pytest.mark.parametrize("offset", [3, 100])
def test_a_file_that_changed_is_not_resumed(offset, tmp_path):
    (tmp_path / "answers.csv").write_text("1,2,3\n4,5,6\n")
    with (
        Reader(tmp_path / "answers.csv") as reader,
        pytest.raises(ReadError, match=f"byte {offset}"),
    ):
        reader.seek(offset, 1)


def test_a_pipe_cannot_be_resumed_and_no_reader_iterates_twice():
    reader = Reader(io.BytesIO(b"1,2,3\n"))
    with pytest.raises(ReadError, match="pipe"):
        reader.seek(6, 1)
    assert len(list(reader)) == 1
    with pytest.raises(ReadError, match="new Reader"):
        list(reader)


def test_an_open_regular_file_has_a_size_and_can_be_resumed(tmp_path):
    (tmp_path / "answers.csv").write_text("1,2,3\n4,5,6\n")
    with (tmp_path / "answers.csv").open("rb") as source:
        reader = Reader(source)
        assert (reader.name, reader.size) == ("answers.csv", 12)
        reader.seek(6, 1)
        assert [chunk.line for chunk in reader] == [2]
        assert not source.closed


def test_a_file_is_closed_at_its_end_and_if_reading_stops_early(tmp_path):
    (tmp_path / "answers.csv").write_text("1,2,3\n4,5\n")
    for read_some in (list, lambda reader: next(iter(reader))):
        reader = Reader(tmp_path / "answers.csv")
        with suppress(ReadError):
            read_some(reader)
        assert reader._file._stream.closed


def test_an_endless_line_is_refused_before_it_fills_the_memory():
    pipe = Pipe(repeat(b"x" * 4096))
    with pytest.raises(ReadError, match=r"line 1: .* 1,048,576 bytes"):
        list(Reader(pipe))
    assert pipe.n_read < 2 << 20


@pytest.mark.parametrize("form", ["{},{},{}\n", '"{}",{},{}\n', '{{"a":{},"b":{},"c":{}}}\n'])
def test_memory_does_not_grow_with_the_length_of_the_stream(form):
    line = form.format(1, 2, 3).encode()
    block = line * (60_000 // len(line))
    tracemalloc.start()
    try:
        chunks = islice(Reader(Pipe(repeat(block))), 4)
        peaks = [tracemalloc.get_traced_memory()[1] for _ in chunks]
    finally:
        tracemalloc.stop()
    assert peaks[-1] < 1.1 * peaks[1] < 10e6


def test_a_non_blocking_pipe_is_refused():
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    refused = pytest.raises(ReadError, match="non-blocking mode")
    with os.fdopen(reading, "rb") as source, os.fdopen(writing, "wb"), refused:
        list(Reader(source))


class Broken:
    def read1(self, size):
        raise OSError(5, "Input/output error")


def test_an_error_of_the_disk_is_reported_with_its_reason():
    with pytest.raises(FileError, match=r"\(Input/output error\)"):
        list(Reader(Broken(), name="answers.csv"))
