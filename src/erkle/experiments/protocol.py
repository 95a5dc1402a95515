"""The sizes of the experiments: those of section 5 of the paper, and smaller ones for a quick look."""

from typing import NamedTuple


class Protocol(NamedTuple):
    """The sizes of all experiments, how often errors are measured, and the limits of batch methods."""

    name: str
    # Objects of the small synthetic set.
    n_small: int
    # Training answers of the small synthetic set; all other answers are test answers.
    n_train: int
    # Objects of the large synthetic set.
    n_large: int
    # Training answers of the large synthetic set.
    n_train_large: int
    # Test answers of the large synthetic set.
    n_test_large: int
    # Training answers about musicians.
    n_train_music: int
    # Training answers about scenes.
    n_train_scenes: int
    # Answers between two measurements of online methods, except on the large set.
    measure_every: int
    # Answers between two measurements on the large set.
    measure_every_large: int
    # Answers between two fits of a batch method.
    mini_batch: int
    # Number of settings that each batch method tries.
    n_traces: int
    # Largest number of passes or gradient steps in figure 1c.
    most_passes: int
    # Largest number of iterations of a batch fit.
    max_iter: int
    # Full path of an answer file for figures 4a and 4b; empty for the public data set.
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
    measure_every=100,
    measure_every_large=500,
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
