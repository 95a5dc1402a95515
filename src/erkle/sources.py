"""Which sources of erkle a process runs: results and workers of other sources must not be mixed."""

import hashlib
from functools import cache
from pathlib import Path

# Packages of erkle that do not affect results.
_WITHOUT_EFFECT = {"cli", "client", "pictures", "service", "store"}

OTHER_SOURCES = "A machine of the cluster has another version of erkle; install the same one on all of them."


@cache
def sources_stamp() -> str:
    """A hash of all sources that can affect a result."""
    root = Path(__file__).parent
    paths = [path.relative_to(root) for path in sorted(root.rglob("*.py"))]
    digest = hashlib.sha256()
    for path in paths:
        if path.parts[0] not in _WITHOUT_EFFECT:
            digest.update(f"{path.as_posix()}\0".encode() + (root / path).read_bytes())
    return digest.hexdigest()[:16]
