"""How much memory this process can use. Nothing here needs NumPy, which may not start with too little of it."""

import os
from pathlib import Path

try:
    import resource
except ImportError:  # Windows has no such limits.
    resource = None  # type: ignore[assignment]


def machine_memory() -> float:
    """The memory that this process can use, in bytes: that of the machine or of its container."""
    try:
        memory = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return float("inf")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return memory
    return min(memory, float(limit)) if limit.isdigit() else memory


def address_space() -> float:
    """The largest address space of this process, in bytes, as ``ulimit -v`` sets it."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0] if resource else -1
    return float("inf") if limit < 0 else float(limit)
