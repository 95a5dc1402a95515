"""Arrays of features in NPY and NPZ files. Pickled arrays, which could run code, are refused."""

import io
import math
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from erkle.files import FileError

Floats = NDArray[np.float64]

# Names of the array of names in an NPZ file, the best one first.
NAMES = ("names", "labels", "objects", "ids", "name", "label", "object", "id")
# What NPY and NPZ files begin with.
_NPY, _NPZ = b"\x93NUMPY", b"PK"
# Bytes of the widest number, a double.
_WIDEST = 8


def read_npy(source: BinaryIO, file: str, most: float = math.inf) -> Floats:
    """The array of an NPY file; ``most`` is the largest number of values."""
    if source.read(len(_NPY)) != _NPY:
        raise FileError(f"{file}: is not an NPY file; save the array with numpy.save.")
    source.seek(0)
    try:
        array = np.lib.format.read_array(source, allow_pickle=False)
    # A damaged file can raise ValueError, EOFError, OSError, SyntaxError, TypeError and more.
    except Exception as error:
        _refuse(error, file, "the array")
    return _vectors(array, file, "the array", most)


def read_npz(source: BinaryIO, file: str, most: float = math.inf) -> tuple[dict[str, Floats], list[str] | None]:
    """The arrays of an NPZ file by name, and the names of the objects if it has them.

    ``most`` is the largest number of values in all arrays.
    """
    blocks: dict[str, Floats] = {}
    names: list[str] | None = None
    key = "it"
    if source.read(len(_NPZ)) != _NPZ:
        raise FileError(f"{file}: is not an NPZ file; save the arrays with numpy.savez.")
    source.seek(0)
    try:
        with np.load(source, allow_pickle=False) as archive:
            # No more than these bytes are unpacked, whatever a file claims inside.
            n_bytes = sum(entry.file_size for entry in archive.zip.infolist())
            check_size(n_bytes / _WIDEST, file, most)
            keys = [key for key in archive.files if key.lower() in NAMES]
            for key in sorted(keys, key=lambda key: NAMES.index(key.lower()))[:1]:
                names = _texts(archive[key], file, key)
            for key in archive.files:
                if key not in keys:
                    left = most - sum(vectors.size for vectors in blocks.values())
                    blocks[key] = _vectors(archive[key], file, key, left)
    except FileError:
        raise
    # As above; also BadZipFile, zlib.error, KeyError, RuntimeError and NotImplementedError.
    except Exception as error:
        _refuse(error, file, key)
    if not blocks:
        raise FileError(f"{file}: holds no array of numbers; pass an array with one row per object.")
    return blocks, names


def npz_of(blocks: Mapping[str, NDArray[Any]], names: Sequence[str]) -> bytes:
    """The bytes of an NPZ file that `read_npz` reads. The same vectors always give the same bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for key, array in {NAMES[0]: np.array(names), **blocks}.items():
            with archive.open(zipfile.ZipInfo(f"{key}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
    return file.getvalue()


def check_size(n_values: float, file: str, most: float) -> None:
    """Refuse a file with too many values."""
    if n_values > most:
        raise FileError(
            f"{file}: has more than {most:,.0f} numbers; pass fewer columns, such as the first principal components."
        )


def _refuse(error: Exception, file: str, key: str) -> NoReturn:
    if isinstance(error, MemoryError):
        raise FileError(f"{file}: does not fit in memory, or is damaged; use a machine with more memory.") from None
    if "Object arrays" in str(error):
        raise FileError(
            f"{file}: {key} holds Python objects, which could run code; save numbers as float32 and names as "
            "np.array(names, dtype=str)."
        ) from None
    raise FileError(f"{file}: is cut short or damaged; save it again with numpy.") from error


def _texts(array: Any, file: str, key: str) -> list[str]:
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in "Uiu":
        raise FileError(f"{file}: {key} is {_described(array)}; pass names as a list of text, one per row.")
    return [str(name) for name in array.tolist()]


def _vectors(array: Any, file: str, key: str, most: float) -> Floats:
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind not in "buif":
        raise FileError(f"{file}: {key} is {_described(array)}; pass numbers, one row per object, or leave it out.")
    check_size(array.size, file, most)
    # Numbers of extended precision can become infinite, which is refused later.
    with np.errstate(over="ignore"):
        return array.astype(np.float64, copy=False)


def _described(array: Any) -> str:
    if not isinstance(array, np.ndarray):
        return "not an array"
    return f"an array of {array.dtype} and shape {array.shape}"
