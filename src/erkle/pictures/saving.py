"""Writing a picture to a file, all of it or nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from erkle.files import write_atomically
from erkle.pictures.look import look

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure to a file as its ending says: .png (200 dots to the inch), .pdf, .svg.

    A reader sees the old file or the new one, never half of it. The folder must be there.

    Examples
    --------
    >>> import tempfile
    >>> from erkle.pictures import map_figure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(map_figure([[0, 0], [3, 1]]), f"{folder}/map.png").name
    'map.png'
    """
    path = Path(path)
    ending = path.suffix.lower().removeprefix(".")
    if ending not in figure.canvas.get_supported_filetypes():
        raise ValueError(f"Got the file name {path.name!r}, wanted the ending of a picture; use .png, .pdf or .svg.")
    with look(), write_atomically(path) as file:
        figure.savefig(file, format=ending)
    return path
