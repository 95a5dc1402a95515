"""Read and write files safely.

`write_atomically` writes to a temporary file in the same folder, flushes it to disk and then renames it, which is an
atomic operation. So a reader sees either the whole old file or the whole new one, and a crash or a full disk leaves the
old file unchanged. The temporary file of a process that was killed is removed at the next write to the folder. That of
a running process is locked, and stays.
"""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows needs no such locks: a file that is open cannot be removed there.
    fcntl = None  # type: ignore[assignment]

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
