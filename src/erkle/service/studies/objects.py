"""Objects from what was listed or sent: names that differ, and media that can be shown."""

from collections.abc import Iterable
from pathlib import PurePosixPath

from erkle.files import FileError
from erkle.service.studies import media
from erkle.service.studies.complaints import printable, shown
from erkle.service.studies.file_sources import Shelf
from erkle.service.studies.media import Prepared
from erkle.service.studies.object_lists import MEDIA, Entry
from erkle.service.studies.uploads import Files
from erkle.store import Medium, Object

__all__ = ["Gathering"]

_NAME, _TEXT, _MOST = 2000, 20_000, 10_000
_KEPT = 512 << 20


class Gathering:
    """Objects and their media, as they come, and the sentences about those that cannot be taken."""

    def __init__(self) -> None:
        self.objects: list[Object] = []
        self.media: dict[str, Medium] = {}
        self.faults: list[str] = []
        self._where: dict[str, str] = {}
        self._prepared: dict[str, Prepared] = {}
        self._kept = 0

    def add_entries(self, entries: Iterable[Entry], shelf: Shelf) -> None:
        """Take what was listed; paths are looked up on the shelf."""
        for entry in entries:
            try:
                payload = {"text": text} if (text := _text(entry)) else {}
                for kind in MEDIA:
                    if kind in entry.parts:
                        payload |= self._shown(entry.parts[kind], shelf, kind)
                self._add(entry.name, payload, entry.where)
            except FileError as fault:
                self._fault(str(fault), entry.where)

    def add_files(self, files: Files) -> None:
        """Take each file as an object that is called like it; cat.jpg and cat.mp3 are one object."""
        by_stem: dict[str, dict[str, str]] = {}
        for file in files.names:
            try:
                prepared = media.prepared(file, files.read(file))
                stem = str(PurePosixPath(file).with_suffix(""))
                payload = by_stem.setdefault(stem, {})
                if payload.keys() & prepared.payload.keys():
                    raise FileError(f"{file}: another file for {stem} shows the same; rename one of them.")
                self._keep(file, prepared)
                payload |= prepared.payload
            except FileError as fault:
                self._fault(str(fault), "")
        for stem, payload in by_stem.items():
            try:
                self._add(PurePosixPath(stem).name, payload, stem)
            except FileError as fault:
                self._fault(str(fault), stem)

    def _add(self, name: str, payload: dict[str, str], where: str) -> None:
        if not name.strip() or len(name) > _NAME or "\0" in name:
            raise FileError(f"the name is {shown(name)}; pass a text of 1 to {_NAME:,} characters.")
        if name in self._where:
            raise FileError(f"{shown(name)} is there already ({self._where[name]}); give each object its own name.")
        if len(self.objects) >= _MOST:
            raise FileError(f"is one object too many; name at most {_MOST:,}.")
        self._where[name] = where
        self.objects.append(Object(name, dict(payload)))

    def _shown(self, path: str, shelf: Shelf, kind: str) -> dict[str, str]:
        if path not in self._prepared:
            prepared = media.prepared(printable(path), shelf.read(path))
            self._keep(path, prepared)
            self._prepared[path] = prepared
        payload = self._prepared[path].payload
        if kind not in payload:
            raise FileError(f"{printable(path)}: is no {kind} but {next(iter(payload))}; name it under that.")
        return payload

    def _keep(self, path: str, prepared: Prepared) -> None:
        self._kept += sum(len(medium.data) for name, medium in prepared.media.items() if name not in self.media)
        if self._kept > _KEPT:
            raise FileError(f"{printable(path)}: with it the media take more than {_KEPT >> 20} MB; make them smaller.")
        self.media |= prepared.media

    def _fault(self, sentence: str, where: str) -> None:
        self.faults.append(f"{where}: {sentence}" if where else sentence)


def _text(entry: Entry) -> str:
    text = entry.parts.get("text", "")
    if len(text) > _TEXT:
        raise FileError(f"the text has {len(text):,} characters; pass at most {_TEXT:,}.")
    return text
