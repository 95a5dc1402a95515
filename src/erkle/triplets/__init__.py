"""The data: answers to "is A more like B or like C?" as rows (anchor, near, far) of ids.

An array of answers has shape (m, 3), type int64, ids from 0 up and three different objects in each row;
`check` is the boundary where that becomes certain, and every other function here may be given anything
`check` accepts. Names become ids with `Labels`, files become both with `read` and `Reader`.

The same two candidates put to the same anchor are one *question*, whichever way it was answered. Splits go
by questions, so that a repeated or contradicted answer never sits on both sides.
"""

from erkle.triplets.checking import check, orient
from erkle.triplets.decoding import ReadError
from erkle.triplets.labels import Labels
from erkle.triplets.objects import Objects, read_objects
from erkle.triplets.reading import Answers, Chunk, Reader, read
from erkle.triplets.repeats import duplicates, ids_of_keys, question_keys, questions
from erkle.triplets.sampling import sample
from erkle.triplets.splitting import held_out, split

__all__ = [
    "Answers",
    "Chunk",
    "Labels",
    "Objects",
    "ReadError",
    "Reader",
    "check",
    "duplicates",
    "held_out",
    "ids_of_keys",
    "orient",
    "question_keys",
    "questions",
    "read",
    "read_objects",
    "sample",
    "split",
]
