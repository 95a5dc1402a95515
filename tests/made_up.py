"""A few made-up lines in every published format, and the data sets they give."""

import hashlib
import io
import zipfile

import numpy as np
from scipy.io import savemat

from erkle.datasets import CATALOGUE

# An address without a server.
NOBODY = "http://127.0.0.1:9"

MUSICIANS = b"abe 7\nold_bea 9\ncid 3\nbea 9\ndee 12"  # 9 has two names; the later one counts
SURVEY = (
    b"1 S anna 7 9 3\n1 S anna 7 9 12\n2 S bob 3 12 -1\n2 S bob 99 7 3\n"
    b"3 S bob 9 9 3\n4 S cleo 12 3 12\n5 S cleo 9 3 7\n"
)
CARS = (
    b"survey_round,chosen_center,triplet_object_1,triplet_object_2,triplet_object_3,response_time\n"
    b"1,2,2,5,9,3.5\n1,5,60,5,1,4.25\n2,3,1,2,3,1\n"
)
FOOD = b"images/b.jpg; images/a.jpg; images/c.jpg\n" * 2 + b"images/a.jpg; images/d.jpg; images/c.jpg\n"
ZAPPOS = b"0,1,2\n84,83,0\n2,0,1\n"
EGGS = (
    b"Participant.ID,Timestamp,Center,Left,Right,Answer,Response.Time..s.,Alg.Label,origTime,origAlg.Label\n"
    b"11,2001-01-01 00:00:00.000001,i0004,i0010,i0002,i0002,900,Train,31:28.0,Random\n"
    b"12,2001-01-01 00:00:00.000002,i0010,i0004,i0008,i0004,800,Test,31:29.0,Test\n"
)
SCENES = b"sea.jpg lake.jpg wood.jpg\nwood.jpg hill.jpg sea.jpg\n"


def matrix(rows, name="triplets"):
    file = io.BytesIO()
    savemat(file, {name: np.array(rows, dtype=np.uint16)}, format="5", do_compression=True)
    return file.getvalue()


def zipped(files):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


def put(home, files):
    for name, content in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return home


# The published files of each data set, and the triplets, names and columns that they give.
PUBLISHED = {
    "aset400": (
        {"filtered-survey.txt": SURVEY, "musician_names.txt": MUSICIANS},
        [[0, 2, 1], [0, 2, 3], [2, 1, 0]],
        ["abe", "cid", "bea", "dee"],
        {"judgement": [1, 1, 5], "participant": ["anna", "anna", "cleo"]},
    ),
    "aset400_vdm": (
        {"music_triplets.mat": matrix([[1, 2, 3], [4, 4, 1], [4, 1, 2]]), "musician_names.txt": MUSICIANS},
        [[0, 1, 2], [3, 0, 1]],
        ["abe", "cid", "bea", "dee"],
        {},
    ),
    "food100": ({"all-triplets.csv": FOOD}, [[0, 3, 2], [1, 0, 2]], [f"images/{x}.jpg" for x in "abcd"], {}),
    "cars60": (
        {"survey_data.csv": CARS},
        [[4, 1, 8], [8, 1, 4], [59, 4, 0], [0, 4, 59], [0, 2, 1], [1, 2, 0]],
        [f"car{i:02d}" for i in range(1, 61)],
        {"answer": [0, 0, 1, 1, 2, 2], "round": [1, 1, 1, 1, 2, 2], "response_time": [3.5, 3.5, 4.25, 4.25, 1, 1]},
    ),
    "zappos85": (
        {"deconflicted_triplets.csv": ZAPPOS},
        [[0, 1, 2], [84, 83, 0], [2, 0, 1]],
        [f"images/{i}.jpg" for i in range(85)],
        {},
    ),
    "eggs300": (
        {"responses.csv": EGGS},
        [[1, 0, 3], [3, 1, 2]],
        ["i0002", "i0004", "i0008", "i0010"],
        {"participant": [11, 12], "algorithm": ["Random", "Test"], "set": ["Train", "Test"]},
    ),
    "nature": (
        {"nature_triplets.txt": SCENES},
        [[2, 1, 3], [1, 2, 3], [3, 0, 2], [0, 3, 2]],
        ["hill.jpg", "lake.jpg", "sea.jpg", "wood.jpg"],
        {"answer": [0, 0, 1, 1]},
    ),
    "vogue": (
        {"vogue_triplets.txt": SCENES},
        [[2, 1, 3], [1, 2, 3], [3, 0, 2], [0, 3, 2]],
        ["hill.jpg", "lake.jpg", "sea.jpg", "wood.jpg"],
        {"answer": [0, 0, 1, 1]},
    ),
}
TEXTS = {name: files for name, (files, *_) in PUBLISHED.items() if name != "aset400_vdm"}


def check(dataset, name):
    _, T, names, columns = PUBLISHED[name]
    assert dataset.triplets.dtype == np.int64
    assert dataset.triplets.flags.c_contiguous
    assert dataset.triplets.tolist() == T
    assert dataset.names == names
    assert {column: values.tolist() for column, values in dataset.columns.items()} == columns
    assert dataset.description == CATALOGUE[name].description


def in_folder(name, files):
    return {f"{name}/{file}": content for file, content in files.items()}


def publish(monkeypatch, name, *sources):
    """Replace the sources of a data set that has one part."""
    entry = CATALOGUE[name]
    assert len(entry.parts) == 1
    monkeypatch.setitem(CATALOGUE, name, entry._replace(parts=(entry.parts[0]._replace(sources=sources),)))


def sha256(content):
    return hashlib.sha256(content).hexdigest()
