"""Answers to the question "Is A more like B or like C?" as rows (anchor, near, far) of ids.

An array of answers has shape (m, 3) and type int64. Its ids start at 0, and each row has three different objects.
`check` guarantees this, and every other function here accepts what `check` accepts. `Labels` turns names into ids;
`read` and `Reader` turn files into names and ids.

A *question* is an anchor and two candidates, in either order. Splits keep all answers to a question on the same side,
so that a repeated or contradicted answer is never in both training and test data.
"""

from erkle.triplets.checking import check, orient
from erkle.triplets.chunks import Chunk
from erkle.triplets.decoding import ReadError
from erkle.triplets.labels import Labels
from erkle.triplets.objects import Objects, read_objects
from erkle.triplets.reading import Answers, Reader, read
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
