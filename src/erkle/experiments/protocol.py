"""How large an experiment is: the sizes of section 5 of the paper, and smaller ones for a look."""

from typing import NamedTuple


class Protocol(NamedTuple):
    """Sizes, how often errors are measured, and what batch methods may spend."""

    name: str
    # Objects and answers to learn of the small synthetic set; all other answers test.
    n_small: int
    n_train: int
    # Objects, answers to learn and answers to test of the large synthetic set.
    n_large: int
    n_train_large: int
    n_test_large: int
    # Answers to learn about musicians, and about scenes.
    n_train_music: int
    n_train_scenes: int
    # Answers between two measurements of online methods, elsewhere and on the large set.
    every: int
    every_large: int
    # Answers between two fits of a batch method.
    mini_batch: int
    # Settings that each batch method tries.
    n_traces: int
    # Passes, or full gradient steps, of figure 1c.
    most_passes: int
    # Iterations of a batch fit, at most.
    max_iter: int
    # Full path of a file of answers for figures 4a and 4b, if there is one.
    scenes: str = ""


PAPER = Protocol(
    name="paper",
    n_small=100,
    n_train=10_000,
    n_large=5000,
    n_train_large=10_000,
    n_test_large=50_000,
    n_train_music=10_000,
    n_train_scenes=1000,
    every=100,
    every_large=500,
    mini_batch=100,
    n_traces=10,
    most_passes=10,
    max_iter=1000,
)
QUICK = PAPER._replace(
    name="quick",
    n_train=3000,
    n_large=300,
    n_train_large=3000,
    n_test_large=20_000,
    n_train_music=3000,
    mini_batch=500,
    n_traces=3,
    most_passes=4,
    max_iter=100,
)
