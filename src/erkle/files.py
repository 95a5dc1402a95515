"""Files that are either the old one or the new one, whole, whatever happens while they are written.

A file is written under another name in the same folder, flushed to the disk and then renamed, which the
system does at once or not at all. A crash or a full disk leaves the old file as it was.
"""

import csv
import errno
import io
import json
import os
import secrets
import stat
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

FORMAT = "erkle"
VERSION = 2

_REMEDIES = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EFBIG: "allow larger files",
    errno.EACCES: "choose a place you may write to",
    errno.EPERM: "choose a place you may write to",
    errno.EROFS: "choose a place you may write to",
    errno.ENOENT: "create the folder first",
    errno.ENOTDIR: "create the folder first",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EISDIR: "give the path of a file in it",
}

Pathlike = str | os.PathLike[str]
Arrays = dict[str, NDArray[Any]]
# What an .npz file holds: plain arrays, and what JSON can hold.
Packed = tuple[Arrays, dict[str, Any]]


class FileError(ValueError):
    """A file that is not what it should be; the text says what it is and what to do.

    Examples
    --------
    >>> raise FileError("model.npz: is cut short or damaged; restore it from a copy.")
    Traceback (most recent call last):
    erkle.files.FileError: model.npz: is cut short or damaged; restore it from a copy.
    """


@contextmanager
def write_atomically(path: Pathlike) -> Iterator[BinaryIO]:
    """Open a binary file that takes the place of ``path`` when the block ends without an error.

    Parameters
    ----------
    path : path
        A regular file, existing or not; a link is followed, and the permissions of an old file are kept.

    Raises
    ------
    OSError
        With the system's errno and a sentence in ``strerror``; the old file, if any, is unchanged.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with write_atomically(Path(folder, "map.txt")) as file:
    ...         _ = file.write(b"here be dragons")
    ...     Path(folder, "map.txt").read_text()
    'here be dragons'
    """
    target = Path(os.path.realpath(path))
    draft = target.parent / f".erkle-{secrets.token_hex(6)}.tmp"
    try:
        permissions = _permissions(target)
        with draft.open("xb") as file:
            if permissions is not None:
                draft.chmod(permissions)
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except OSError as error:
        # The block may have failed over a file of its own, which needs no words from here.
        if error.errno is None or error.filename not in (None, str(draft), str(target)):
            raise
        remedy = _REMEDIES.get(error.errno, "check the path and the disk")
        sentence = f"{os.fspath(path)}: cannot be written ({error.strerror}); {remedy}."
        raise OSError(error.errno, sentence) from error
    finally:
        with suppress(OSError):
            draft.unlink()
    _flush_folder(target.parent)


def file_name(path: Pathlike) -> str:
    """What errors call a file: its name without folders; one that cannot be printed is shown escaped."""
    name = Path(path).name
    return name if name.isprintable() else ascii(name)


def open_binary(path: Pathlike) -> BinaryIO:
    """Open a file for reading, or say in one sentence why not.

    Parameters
    ----------
    path : path

    Raises
    ------
    FileError

    Examples
    --------
    >>> open_binary("nowhere.csv")
    Traceback (most recent call last):
    erkle.files.FileError: nowhere.csv: there is no such file in ...; check the path.
    """
    place, name = Path(path), file_name(path)
    try:
        return place.open("rb")
    except FileNotFoundError:
        folder = place.absolute().parent
        raise FileError(f"{name}: there is no such file in {folder}; check the path.") from None
    except IsADirectoryError:
        raise FileError(f"{name}: is a folder, not a file; give the path of a file in it.") from None
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from error


def unreadable(name: str, error: Exception) -> FileError:
    """The error about a file that the system does not let us read."""
    reason = getattr(error, "strerror", None) or error
    return FileError(f"{name}: cannot be read ({reason}); check the path, its permissions and the disk.")


def read_bytes(path: Pathlike, most: int | None = None) -> bytes:
    """The contents of a file, or one sentence that says why not.

    Parameters
    ----------
    path : path
    most : int, optional
        Bytes; a larger file is refused.

    Raises
    ------
    FileError
    """
    with open_binary(path) as file:
        try:
            data = file.read(-1 if most is None else most + 1)
        except OSError as error:
            raise unreadable(file_name(path), error) from error
    if most is not None and len(data) > most:
        raise FileError(f"{file_name(path)}: is larger than {most >> 20} MB; make it smaller.")
    return data


def write_text(path: Pathlike, text: str) -> None:
    """Write a text file atomically, in UTF-8 with its line ends as they are.

    Parameters
    ----------
    path : path
    text : str

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text(Path(folder, "names.txt"), "Zoë")
    ...     Path(folder, "names.txt").read_text(encoding="utf-8")
    'Zoë'
    """
    with write_atomically(path) as file:
        file.write(text.encode())


def csv_text(header: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    r"""A table as the text of a CSV file, with a line feed at the end of each row.

    Parameters
    ----------
    header : iterable
        Names of the columns.
    rows : iterable of iterables
        Cells; what is not a text is written as ``str`` does.

    Returns
    -------
    text : str

    Examples
    --------
    >>> csv_text(["object", "x"], [["Paris", 0.5], ["Washington, D.C.", -1.0]])
    'object,x\nParis,0.5\n"Washington, D.C.",-1.0\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def save_npz(path: Pathlike, arrays: Mapping[str, ArrayLike], meta: Mapping[str, Any]) -> None:
    """Write arrays and a description of them to an uncompressed npz file, atomically.

    The same arrays and description always give the same bytes.

    Parameters
    ----------
    path : path
    arrays : mapping of str to array-like
        Numbers, booleans or text; no name may be ``meta``.
    meta : mapping
        What JSON can hold. ``format`` and ``version`` are added to it where it does not have them.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_npz(Path(folder, "model.npz"), {"K": [[1.0, 0.0], [0.0, 1.0]]}, {"loss": "STE"})
    ...     arrays, meta = load_npz(Path(folder, "model.npz"))
    >>> arrays["K"].shape, meta
    ((2, 2), {'format': 'erkle', 'version': 2, 'loss': 'STE'})
    """
    with write_atomically(path) as file:
        _write(file, Path(path).name, arrays, meta)


def npz_to_bytes(arrays: Mapping[str, ArrayLike], meta: Mapping[str, Any]) -> bytes:
    """The bytes that `save_npz` would write.

    Examples
    --------
    >>> arrays, meta = npz_from_bytes(npz_to_bytes({"ids": [3, 1]}, {"kind": "list"}))
    >>> arrays["ids"], meta["kind"]
    (array([3, 1]), 'list')
    """
    file = io.BytesIO()
    _write(file, "The file", arrays, meta)
    return file.getvalue()


def _write(file: BinaryIO, name: str, arrays: Mapping[str, ArrayLike], meta: Mapping[str, Any]) -> None:
    if "meta" in arrays:
        raise FileError(f"{name}: an array is called meta, which is taken; give it another name.")
    description = json.dumps({"format": FORMAT, "version": VERSION, **meta})
    with zipfile.ZipFile(file, "w") as archive:
        for key, array in {"meta": description, **arrays}.items():
            found = np.asanyarray(array)
            if found.dtype.hasobject:
                raise FileError(f"{name}: array {key} holds Python objects; turn it into numbers or text.")
            # A ZipInfo without a date: otherwise the bytes would depend on the clock.
            with archive.open(zipfile.ZipInfo(f"{key}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, found, allow_pickle=False)


def load_npz(path: Pathlike, format: str = FORMAT) -> Packed:
    """Read what `save_npz` wrote. No file can run code by being read.

    Parameters
    ----------
    path : path
    format : str
        The format wanted; a file of another one is refused.

    Returns
    -------
    arrays : dict of str to ndarray
    meta : dict
        With ``format`` and ``version`` in it.

    Raises
    ------
    FileError
        When there is no such file, or it is damaged, or not one of ours.

    Examples
    --------
    >>> load_npz("nowhere.npz")
    Traceback (most recent call last):
    erkle.files.FileError: nowhere.npz: there is no such file in ...; check the path.
    """
    with open_binary(path) as file:
        return _load(file, file_name(path), format)


def npz_from_bytes(data: bytes, name: str = "The file") -> Packed:
    """Read what `npz_to_bytes` gave; errors call it by a name.

    Examples
    --------
    >>> npz_from_bytes(b"PK", "snapshot")
    Traceback (most recent call last):
    erkle.files.FileError: snapshot: is not an npz file; give one that erkle has saved.
    """
    return _load(io.BytesIO(data), name, FORMAT)


def prefixed(part: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays as those of a part: they have its name and a dot before their own."""
    return {f"{part}.{name}": array for name, array in arrays.items()}


def under(part: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays of a part, by the names they have in it."""
    start = f"{part}."
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def _load(file: BinaryIO, name: str, format: str) -> Packed:
    if file.read(4) != b"PK\x03\x04":
        raise FileError(f"{name}: is not an npz file; give one that erkle has saved.")
    file.seek(0)
    try:
        with np.load(file, allow_pickle=False) as archive:
            meta = _meta(archive, name, format)
            return {key: _member(archive, name, key) for key in archive.files if key != "meta"}, meta
    except FileError:
        raise
    except MemoryError:
        raise FileError(f"{name}: is damaged or needs more memory than there is; use a larger machine.") from None
    # Damage shows as BadZipFile, EOFError, OSError, KeyError, ValueError, struct.error and more.
    except Exception as error:
        raise FileError(f"{name}: is cut short or damaged; restore it from a copy.") from error


def _meta(archive: Mapping[str, Any], name: str, format: str) -> dict[str, Any]:
    if "meta" not in archive:
        raise FileError(f"{name}: has no description; give a file that erkle has saved.")
    meta: dict[str, Any] = json.loads(str(_member(archive, name, "meta")))
    if not isinstance(meta, dict) or meta.get("format") != format:
        raise FileError(f"{name}: is not of the format {format}; give a file that was saved as such.")
    if meta.get("version") != VERSION:
        raise FileError(
            f"{name}: has version {meta.get('version')} of the format {format}, and this erkle reads version {VERSION};"
            " use the erkle that wrote it."
        )
    return meta


def _member(archive: Mapping[str, Any], name: str, key: str) -> NDArray[Any]:
    try:
        array = archive[key]
    except ValueError as error:
        if "Object arrays" not in str(error):
            raise
        raise FileError(f"{name}: holds Python objects ({key}), which could run code; use another file.") from None
    if not isinstance(array, np.ndarray):
        raise FileError(f"{name}: holds something that is not an array ({key}); give a file that erkle has saved.")
    return array


def _permissions(target: Path) -> int | None:
    """Permissions of the file to be replaced; an error where it is no file at all."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        # Renaming over a device such as /dev/null would remove the device.
        raise OSError(errno.EINVAL, "Not a regular file")
    return stat.S_IMODE(mode)


def _flush_folder(folder: Path) -> None:
    # Some systems cannot flush a folder; the new file is in place by now, so that is no failure.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
