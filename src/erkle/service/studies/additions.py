"""Objects that are added to a study, also while people answer: they get the next numbers.

The model is then learned again from the start, with a place for the new objects. Features place them at once.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from erkle.features.reading import FeatureFile
from erkle.service.studies.complaints import Complaint, Complaints, shown, spelled
from erkle.service.studies.features import check_alike, described
from erkle.service.studies.object_changes import NewObject
from erkle.service.studies.objects import Entry, ObjectReader
from erkle.service.studies.uploads import Files
from erkle.store import Store, Study


class Added(NamedTuple):
    """A study with new objects, and sentences about features that do not match."""

    study: Study
    notes: list[str]


def read_sent(
    store: Store, study: Study, objects: Sequence[NewObject], files: Iterable[tuple[str, BinaryIO]]
) -> ObjectReader:
    """Read new objects from a request. Files that they do not name become objects of their own."""
    reader = ObjectReader(Files.sent(files), stored_bytes=_media_bytes(store, study))
    places = (spelled(("objects", number)) for number in range(len(objects)))
    reader.add_entries(Entry(where, each.name, each.parts) for where, each in zip(places, objects, strict=False))
    reader.add_rest()
    return reader


def read_named(store: Store, study: Study, path: Path) -> ObjectReader:
    """Read new objects from a table, a folder or a ZIP on disk."""
    reader = ObjectReader(Files(), path.parent, _media_bytes(store, study))
    reader.add_named(path.name)
    return reader


def add_objects(store: Store, study: Study, new: ObjectReader, feature_files: Sequence[FeatureFile]) -> Added:
    """Add objects to a study that is not closed.

    Parameters
    ----------
    store : Store
    study : Study
    new : ObjectReader
        The new objects, with their media.
    feature_files : sequence of FeatureFile
        Vectors of the new objects, for blocks of features that the study has.

    Raises
    ------
    Complaints, FileError, StoreError
        If an object or a file is refused. Nothing changes then.
    """
    if new.faults:
        raise Complaints(Complaint((), fault) for fault in new.faults)
    if not new.objects:
        raise Complaints([Complaint(("objects",), "There is no new object; pass names or files.")])
    before = {each.name for each in store.studies.objects(study.id)}
    if known := [each.name for each in new.objects if each.name in before]:
        sentence = f"The study already has an object called {shown(known[0])}; give the new object another name."
        raise Complaints([Complaint(("objects",), sentence)])
    stored = store.features.all(study.id)
    features = described(_continued(feature_files, list(stored)), [each.name for each in new.objects], before)
    # Additions that are refused leave no media behind.
    store.objects.check_addition(study.id, new.objects, features.blocks)
    check_alike(features.blocks, stored)
    store.objects.add_media(study.id, new.media, new.media.size)
    return Added(store.objects.add(study.id, new.objects, features.blocks), features.notes)


def _continued(files: Sequence[FeatureFile], blocks: Sequence[str]) -> Sequence[FeatureFile]:
    """A single block of new vectors needs no name if the study has only one."""
    if len(files) == len(blocks) == 1 and len(files[0].blocks) == 1:
        return [files[0]._replace(blocks=dict(zip(blocks, files[0].blocks.values(), strict=True)))]
    return files


def _media_bytes(store: Store, study: Study) -> int:
    return sum(store.media.sizes(study.id).values())
