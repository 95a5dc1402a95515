"""What tests of exports and imports share: a study with answers and media, its log, and its kernel."""

import io
import tracemalloc
from contextlib import contextmanager

import numpy as np
from PIL import Image

from erkle.npz_files import npz_from_bytes, npz_to_bytes
from erkle.service.learning import Fold
from erkle.service.studies.media import prepared
from erkle.service.studies.spec import StudySettings
from erkle.store import Kind, Object, Query, State
from with_media import study_with_media

# Names with formulas, markup, quotes, separators, line ends and non-ASCII letters.
NAMES = ["=1+1", "<script>alert(1)</script>", "'tis", 'a, "b"; c', "@here", "Chișinău", "two\nlines", "-5"]


def picture(colour):
    """The bytes of a small image."""
    file = io.BytesIO()
    Image.new("RGB", (20, 20), colour).save(file, "PNG")
    return file.getvalue()


def filled(store, owner=None, people=3, each=12, seed=0, names=NAMES):
    """A study with media, features, answers of all kinds, skips, and several participants, one of them excluded."""
    rng = np.random.default_rng(seed)
    shown = prepared("red.png", picture("red"))
    objects = [Object(names[0], {**shown.payload, "text": "more"}), *names[1:]]
    settings = StudySettings(holdout=0.2).model_dump(mode="json")
    study = study_with_media(store, "Odd = names", objects, settings, owner=owner, media=shown.media).id
    store.studies.change_state(study, State.OPEN)
    places = rng.standard_normal((len(names), 2))
    store.features.add(study, {"=place": places.astype(np.float32), "size": np.ones((1, 3), np.float32)})

    def take_part(transaction):
        for person in range(people):
            link = {"PROLIFIC_PID": f"p{person}", "note": "=HYPERLINK(1)", "CamelCase": "1"}
            who = transaction.participants.join(study, link, identity=f"PROLIFIC_PID=p{person}").id
            kinds = [Kind.PRACTICE, Kind.CATCH, *rng.choice([Kind.CHOSEN, Kind.HELD_OUT, Kind.REPEATED], each - 2)]
            for asked in transaction.questions.issue(
                study, who, [_query(rng, len(names), Kind(kind)) for kind in kinds]
            ):
                a, b, c = places[[asked.anchor, asked.first, asked.second]]
                near = asked.first if np.linalg.norm(a - b) < np.linalg.norm(a - c) else asked.second
                transaction.answers.submit(study, who, asked.token, near, int(rng.integers(200, 9000)), {"width": 1280})
            [skipped] = transaction.questions.issue(study, who, [Query(0, 1, 2)])
            transaction.answers.skip(study, who, skipped.token, "=I cannot decide")
        return who

    who = store.transact(take_part)
    store.participants.exclude(study, [who])
    return store.studies.get(study)


def _query(rng, n, kind):
    anchor, first, second = (int(each) for each in rng.choice(n, 3, replace=False))
    return Query(anchor, first, second, int(rng.choice([first, second])), kind, "adaptive, 12 looked at")


def log(store, study):
    """The log without tokens, with participants numbered in their order of appearance."""
    order = {}
    return [
        answer._replace(participant=order.setdefault(answer.participant, len(order)), token="")
        for answer in store.answers.log(study, include_excluded=True)
    ]


def kernel(store, study):
    """The learner of a study's log, as bytes without the secret ids of participants, which differ between studies."""
    fold = Fold(store.studies.get(study).n_objects, store.features.all(study))
    fold.learn(list(store.answers.log(study, include_excluded=True)))
    arrays, meta = npz_from_bytes(fold.to_bytes(), "it")
    return npz_to_bytes({name: array for name, array in arrays.items() if name != "participants.names"}, meta)


@contextmanager
def peak_memory():
    """Measure a block; the value is a function that returns the most bytes that Python held at once in it."""
    tracemalloc.start()
    try:
        yield lambda: peak
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
