"""Read arrays of features from NPY and NPZ files. Pickled arrays, which could run code, are refused."""

import os
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from erkle.files import FileError, open_binary

Floats = NDArray[np.float64]
Pathlike = str | os.PathLike[str]

# Names of the array of names in an NPZ file.
_NAMES = ("names", "labels", "objects", "ids", "name", "label", "object", "id")
# What NPY and NPZ files begin with.
_NPY, _NPZ = b"\x93NUMPY", b"PK"


def read_npy(path: Pathlike, file: str) -> Floats:
    """The array of an NPY file."""
    with open_binary(path) as source:
        if source.read(len(_NPY)) != _NPY:
            raise FileError(f"{file}: is not an NPY file; save the array with numpy.save.")
        source.seek(0)
        try:
            array = np.lib.format.read_array(source, allow_pickle=False)
        # A damaged file can raise ValueError, EOFError, OSError, SyntaxError, TypeError and more.
        except Exception as error:
            _refuse(error, file, "the array")
    return _vectors(array, file, "the array")


def read_npz(path: Pathlike, file: str) -> tuple[dict[str, Floats], list[str] | None]:
    """The arrays of an NPZ file by name, and the names of the objects if it has them."""
    blocks: dict[str, Floats] = {}
    names: list[str] | None = None
    key = "it"
    with open_binary(path) as source:
        if source.read(len(_NPZ)) != _NPZ:
            raise FileError(f"{file}: is not an NPZ file; save the arrays with numpy.savez.")
        source.seek(0)
        try:
            with np.load(source, allow_pickle=False) as archive:
                for key in archive.files:
                    if key.lower() in _NAMES:
                        names = _texts(archive[key], file, key)
                    else:
                        blocks[key] = _vectors(archive[key], file, key)
        except FileError:
            raise
        # As above; also BadZipFile, zlib.error, KeyError, RuntimeError and NotImplementedError.
        except Exception as error:
            _refuse(error, file, key)
    if not blocks:
        raise FileError(f"{file}: holds no array of numbers; pass an array with one row per object.")
    return blocks, names


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


def _vectors(array: Any, file: str, key: str) -> Floats:
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind not in "buif":
        raise FileError(f"{file}: {key} is {_described(array)}; pass numbers, one row per object, or leave it out.")
    return array.astype(np.float64, copy=False)


def _described(array: Any) -> str:
    if not isinstance(array, np.ndarray):
        return "not an array"
    return f"an array of {array.dtype} and shape {array.shape}"
