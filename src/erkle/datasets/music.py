"""Musicians: the survey of musicseer.org about 412 artists, and van der Maaten's version without conflicts.

The ids of both are places in cblearn's list of artists. Of two names for one artist the later counts.
"""

import io

import numpy as np

from erkle.datasets.catalogue import Entry
from erkle.datasets.copies import Original
from erkle.datasets.dataset import Dataset, column, proper
from erkle.datasets.loading import Recipe, load_by
from erkle.files import FileError, Pathlike
from erkle.triplets.tables import read_table

__all__ = ["load_aset400", "load_aset400_vdm"]


def load_aset400(data_home: Pathlike | None = None, degenerate: bool = False) -> Dataset:
    """The paper's music data: 16,331 answers about 412 musicians.

    Of the 16,449 lines of the survey 16,385 are about three artists of the list. 54 of those name one artist
    twice, which no kernel can satisfy or learn from.

    Parameters
    ----------
    data_home : path, optional
        Folder with data, by default the environment's ``ERKLE_DATA``; the user's cache comes second.
    degenerate : bool
        Keep the 54 rows with one artist twice, which gives the paper's 16,385.

    Returns
    -------
    Dataset
        With columns ``judgement`` (one gives several rows) and ``worker``. 12 artists are in no answer.
    """
    return load_by(_ASET400, data_home, whole=degenerate)


def load_aset400_vdm(data_home: Pathlike | None = None, degenerate: bool = False) -> Dataset:
    """The music data without repeats and conflicts: 9,090 answers about 412 musicians.

    Parameters
    ----------
    data_home : path, optional
        Folder with data, by default the environment's ``ERKLE_DATA``; the user's cache comes second.
    degenerate : bool
        Keep the 17 rows with one artist twice, which gives the published 9,107.

    Returns
    -------
    Dataset
        Without columns; its objects are those of `load_aset400`.
    """
    return load_by(_ASET400_VDM, data_home, whole=degenerate)


def _artists(copy: Original) -> dict[int, str]:
    table = read_table(copy.read("musician_names.txt"), "musician_names.txt", header=("name", "id"), separator=None)
    ids = table.integers("id")[:, 0].tolist()
    last = {key: row for row, key in enumerate(ids)}
    return {key: table.columns["name"][row] for row, key in enumerate(ids) if last[key] == row}


def _parse_survey(copy: Original, entry: Entry) -> Dataset:
    artists = _artists(copy)
    header = ("judgement", "kind", "worker", "target", "chosen", "other")
    table = read_table(copy.read("filtered-survey.txt"), "filtered-survey.txt", header, separator=None)
    places = {key: place for place, key in enumerate(artists)}
    ids = table.integers("target", "chosen", "other")
    T = np.array([[places.get(key, -1) for key in row] for row in ids.tolist()], dtype=np.int64)
    known = T.min(axis=1) >= 0
    columns = {name: column(table.columns[name]) for name in ("judgement", "worker")}
    return Dataset(T, list(artists.values()), columns, entry.description).rows(known)


def _parse_matrix(copy: Original, entry: Entry) -> Dataset:
    from scipy.io import loadmat

    names = list(_artists(copy).values())
    try:
        found = loadmat(io.BytesIO(copy.read("music_triplets.mat")), variable_names=["triplets"])["triplets"]
        # Stored as uint16, in which 0 - 1 would be 65535.
        T = np.asarray(found, dtype=np.int64).reshape(-1, 3) - 1
    # Damage shows as ValueError, KeyError, TypeError, NotImplementedError, zlib.error and more.
    except Exception as error:
        raise FileError("music_triplets.mat: is no MATLAB 5 file with a matrix triplets; get it again.") from error
    if T.min(initial=0) < 0 or T.max(initial=0) >= len(names):
        raise FileError(f"music_triplets.mat: names artists beyond the {len(names)} listed; get it again.")
    return Dataset(T, names, {}, entry.description)


_ASET400 = Recipe(
    "aset400",
    _parse_survey,
    proper,
    whole="triplets_16385.csv",
    beside="triplets_16385_judgement_user.csv",
    columns={"judgement": "judgement", "user": "worker"},
)
_ASET400_VDM = Recipe("aset400_vdm", _parse_matrix, proper, whole="triplets_9107.csv")
