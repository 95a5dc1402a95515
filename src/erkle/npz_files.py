"""Arrays and a description in one file, the format that NumPy calls npz.

Reading never runs code from the file. The bytes of a file depend only on what is in it.
"""

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle.files import FileError, Pathlike, file_name, open_binary, write_atomically

# Format and version that files record by default.
FORMAT = "erkle"
VERSION = 6

Arrays = dict[str, NDArray[Any]]
# The contents of a file: arrays, and a description that JSON can represent.
Packed = tuple[Arrays, dict[str, Any]]


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
    ((2, 2), {'format': 'erkle', 'version': 6, 'loss': 'STE'})
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
