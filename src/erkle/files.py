"""Read and write files safely.

`write_atomically` writes to a temporary file in the same folder, flushes it to disk and then renames it, which is an
atomic operation. So a reader sees either the whole old file or the whole new one, and a crash or a full disk leaves the
old file unchanged. The temporary file of a process that was killed is removed at the next write to the folder. That of
a running process is locked, and stays.
"""

import errno
import io
import json
import os
import secrets
import stat
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    import fcntl
except ImportError:  # Windows needs no such locks: a file that is open cannot be removed there.
    fcntl = None  # type: ignore[assignment]

# Format and version that npz files record by default.
FORMAT = "erkle"
VERSION = 5

_REMEDIES = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EFBIG: "allow larger files",
    errno.EACCES: "choose a folder with write permission",
    errno.EPERM: "choose a folder with write permission",
    errno.EROFS: "choose a folder with write permission",
    errno.ENOENT: "create the folder first",
    errno.ENOTDIR: "create the folder first",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EISDIR: "pass the path of a file",
}

Pathlike = str | os.PathLike[str]
Arrays = dict[str, NDArray[Any]]
# The contents of an npz file: arrays, and a description that JSON can represent.
Packed = tuple[Arrays, dict[str, Any]]


class FileError(ValueError):
    """A file cannot be read or has the wrong contents. The message says why and what to do.

    Examples
    --------
    >>> raise FileError("model.npz: is cut short or damaged; restore it from a copy.")
    Traceback (most recent call last):
    erkle.files.FileError: model.npz: is cut short or damaged; restore it from a copy.
    """


@contextmanager
def write_atomically(path: Pathlike) -> Iterator[BinaryIO]:
    """Open a binary file that replaces ``path`` if the ``with`` block ends without an error.

    Parameters
    ----------
    path : path
        A regular file, which need not exist. Symbolic links are followed, and the permissions of an old file are kept.

    Raises
    ------
    OSError
        With the system's errno and a sentence in ``strerror``. The old file, if any, is unchanged.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with write_atomically(Path(folder, "map.txt")) as file:
    ...         _ = file.write(b"north")
    ...     Path(folder, "map.txt").read_text()
    'north'
    """
    target = Path(os.path.realpath(path))
    draft = target.parent / f".erkle-{secrets.token_hex(6)}.tmp"
    try:
        permissions = _permissions(target)
        remove_drafts(target.parent)
        with _new_draft(draft) as file:
            if permissions is not None:
                draft.chmod(permissions)
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except OSError as error:
        # An error about another file, raised inside the block, is not reworded.
        if error.errno is None or error.filename not in (None, str(draft), str(target)):
            raise
        remedy = _REMEDIES.get(error.errno, "check the path and the disk")
        sentence = f"{os.fspath(path)}: cannot be written ({error.strerror}); {remedy}."
        raise OSError(error.errno, sentence) from error
    finally:
        with suppress(OSError):
            draft.unlink()
    _flush_folder(target.parent)


def remove_drafts(folder: Path) -> None:
    """Remove the temporary files that killed processes have left in a folder."""
    for draft in folder.glob(".erkle-*.tmp"):
        with suppress(OSError), _locked_draft(draft):
            # SQLite puts files next to a backup that it is writing.
            for each in folder.glob(f"{draft.name}*"):
                each.unlink()


def file_name(path: Pathlike) -> str:
    """The name of a file in errors: without folders, and escaped if it is not printable."""
    name = Path(path).name
    return name if name.isprintable() else ascii(name)


def open_binary(path: Pathlike) -> BinaryIO:
    """Open a file for reading, or raise a `FileError` with the reason.

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
        raise FileError(f"{name}: is a folder; pass the path of a file.") from None
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from error


def unreadable(name: str, error: Exception) -> FileError:
    """The error about a file that the system cannot read."""
    reason = getattr(error, "strerror", None) or error
    return FileError(f"{name}: cannot be read ({reason}); check the path, its permissions and the disk.")


def read_bytes(path: Pathlike, most: int | None = None) -> bytes:
    """Read a file, or raise a `FileError` with the reason.

    Parameters
    ----------
    path : path
    most : int, optional
        The largest size in bytes. Larger files are refused.

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
    """Write a text file atomically, in UTF-8 and without changing line ends.

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


def save_npz(path: Pathlike, arrays: Mapping[str, ArrayLike], meta: Mapping[str, Any]) -> None:
    """Write arrays and a description to an uncompressed npz file, atomically.

    The same arrays and description always give the same bytes.

    Parameters
    ----------
    path : path
    arrays : mapping of str to array-like
        Numbers, booleans or text. No array may be called ``meta``.
    meta : mapping
        The description, which JSON must be able to represent. The keys ``format`` and ``version`` are added if missing.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_npz(Path(folder, "model.npz"), {"K": [[1.0, 0.0], [0.0, 1.0]]}, {"loss": "STE"})
    ...     arrays, meta = load_npz(Path(folder, "model.npz"))
    >>> arrays["K"].shape, meta
    ((2, 2), {'format': 'erkle', 'version': 5, 'loss': 'STE'})
    """
    with write_atomically(path) as file:
        _write(file, Path(path).name, arrays, meta)


def npz_to_bytes(arrays: Mapping[str, ArrayLike], meta: Mapping[str, Any]) -> bytes:
    """The bytes of the file that `save_npz` writes.

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
        raise FileError(f"{name}: an array is called meta, which is reserved; rename it.")
    description = json.dumps({"format": FORMAT, "version": VERSION, **meta})
    with zipfile.ZipFile(file, "w") as archive:
        for key, array in {"meta": description, **arrays}.items():
            found = np.asanyarray(array)
            if found.dtype.hasobject:
                raise FileError(f"{name}: the array {key} holds Python objects; convert it to numbers or text.")
            # A ZipInfo without a date, so that the bytes do not depend on the clock.
            with archive.open(zipfile.ZipInfo(f"{key}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, found, allow_pickle=False)


def load_npz(path: Pathlike, format: str = FORMAT) -> Packed:
    """Read a file that `save_npz` wrote. Reading never runs code from the file.

    Parameters
    ----------
    path : path
    format : str
        The expected format. Files of other formats are refused.

    Returns
    -------
    arrays : dict of str to ndarray
    meta : dict
        The description, including ``format`` and ``version``.

    Raises
    ------
    FileError
        If the file does not exist, is damaged or has another format.

    Examples
    --------
    >>> load_npz("nowhere.npz")
    Traceback (most recent call last):
    erkle.files.FileError: nowhere.npz: there is no such file in ...; check the path.
    """
    with open_binary(path) as file:
        return _load(file, file_name(path), format)


def npz_from_bytes(data: bytes, name: str = "The file") -> Packed:
    """Read the bytes that `npz_to_bytes` returned. ``name`` appears in errors.

    Examples
    --------
    >>> npz_from_bytes(b"PK", "snapshot")
    Traceback (most recent call last):
    erkle.files.FileError: snapshot: is not an npz file; pass a file that erkle has saved.
    """
    return _load(io.BytesIO(data), name, FORMAT)


def prefixed(part: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays, with the part's name and a dot before each name. `under` undoes it."""
    return {f"{part}.{name}": array for name, array in arrays.items()}


def under(part: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays of a part, without its name and the dot."""
    start = f"{part}."
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def _load(file: BinaryIO, name: str, format: str) -> Packed:
    if file.read(4) != b"PK\x03\x04":
        raise FileError(f"{name}: is not an npz file; pass a file that erkle has saved.")
    file.seek(0)
    try:
        with np.load(file, allow_pickle=False) as archive:
            meta = _meta(archive, name, format)
            return {key: _member(archive, name, key) for key in archive.files if key != "meta"}, meta
    except FileError:
        raise
    except MemoryError:
        raise FileError(f"{name}: does not fit in memory, or is damaged; use a machine with more memory.") from None
    # A damaged file can raise BadZipFile, EOFError, OSError, KeyError, ValueError, struct.error and more.
    except Exception as error:
        raise FileError(f"{name}: is cut short or damaged; restore it from a copy.") from error


def _meta(archive: Mapping[str, Any], name: str, format: str) -> dict[str, Any]:
    if "meta" not in archive:
        raise FileError(f"{name}: has no description; pass a file that erkle has saved.")
    meta: dict[str, Any] = json.loads(str(_member(archive, name, "meta")))
    if not isinstance(meta, dict) or meta.get("format") != format:
        raise FileError(f"{name}: does not have the format {format!r}; pass a file of that format.")
    if meta.get("version") != VERSION:
        raise FileError(
            f"{name}: has version {meta.get('version')} of the format {format!r}, but this erkle reads version"
            f" {VERSION}; use the version of erkle that wrote it."
        )
    return meta


def _member(archive: Mapping[str, Any], name: str, key: str) -> NDArray[Any]:
    try:
        array = archive[key]
    except ValueError as error:
        if "Object arrays" not in str(error):
            raise
        raise FileError(f"{name}: holds Python objects ({key}), which could run code; pass another file.") from None
    if not isinstance(array, np.ndarray):
        raise FileError(f"{name}: holds {key}, which is not an array; pass a file that erkle has saved.")
    return array


def _new_draft(draft: Path) -> BinaryIO:
    """Create a temporary file, and lock it so that `remove_drafts` in another process leaves it alone."""
    while True:
        file = draft.open("xb")
        if fcntl:
            # Some file systems have no locks. Nobody can lock a draft there, so nobody removes it.
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return file
        # Another process has removed it between the two calls.
        file.close()


@contextmanager
def _locked_draft(draft: Path) -> Iterator[None]:
    """Lock a temporary file, or raise `OSError` if the process that writes it still runs."""
    if fcntl is None:
        yield
        return
    # Without waiting, in case it is a pipe.
    handle = os.open(draft, os.O_RDONLY | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def _permissions(target: Path) -> int | None:
    """The permissions of the file to replace, or None if it does not exist. Raise an error if it is not a file."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        # Renaming a file to a device such as /dev/null would remove the device.
        raise OSError(errno.EINVAL, "Not a regular file")
    return stat.S_IMODE(mode)


def _flush_folder(folder: Path) -> None:
    # Some systems cannot flush a folder. The new file is already in place, so this is not an error.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
