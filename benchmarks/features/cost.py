"""The cost of features: CPU seconds and peak memory about 100,000 objects with 512 columns, in a process of its own."""

import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

from erkle import ERKLE, triplets
from erkle.datasets import answered

N_OBJECTS, N_COLUMNS, N_ANSWERS, _DIMENSIONS = 100_000, 512, 300_000, 5
_GB = 1 << 30


def many_objects(with_features: bool) -> dict[str, Any]:
    """CPU seconds, peak memory in GB, and the error on further answers, with features or without."""
    command = [sys.executable, "-m", "benchmarks.features.cost", str(int(with_features))]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    return dict(json.loads(done.stdout))


def _measure(with_features: bool) -> dict[str, float]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_OBJECTS, _DIMENSIONS))
    features = None
    if with_features:
        # Single precision, as embeddings usually are.
        features = (X @ rng.standard_normal((_DIMENSIONS, N_COLUMNS))).astype(np.float32)
        features += rng.standard_normal(features.shape, np.float32)
    T = answered(triplets.sample(N_OBJECTS, N_ANSWERS, 1), X)
    test = answered(triplets.sample(N_OBJECTS, 20_000, 2), X)
    start = time.process_time()
    model = ERKLE(N_OBJECTS, random_state=0, features=features).fit(T)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return {"seconds": seconds, "GB": peak / _GB, "error": 1.0 - model.score(test)}


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1] == "1")))
