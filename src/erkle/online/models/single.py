"""Single: one kernel and one rule, with nothing to choose."""

from typing import Any, Self

from erkle.kernels.dense import DenseKernel
from erkle.kernels.looping import Rule, Stretch
from erkle.kernels.low_rank import LowRankKernel
from erkle.npz_files import Arrays, Packed, prefixed, under
from erkle.online.models.base import Model
from erkle.online.selection.evidence import Evidence

_KINDS: dict[str, type[DenseKernel] | type[LowRankKernel]] = {"dense": DenseKernel, "low rank": LowRankKernel}


class Single(Model):
    """A kernel that answers move according to a rule.

    Parameters
    ----------
    kernel : DenseKernel or LowRankKernel
    rule : Rule
        How an answer moves the kernel; it may be replaced between two calls of `learn`.
    """

    kernel: DenseKernel | LowRankKernel

    def __init__(self, kernel: DenseKernel | LowRankKernel, rule: Rule) -> None:
        self.kernel, self.rule = kernel, rule
        self.evidence = Evidence()

    def learn(self, stretch: Stretch) -> None:
        """Learn the rows in order."""
        try:
            self.kernel.learn(self.rule, stretch)
        finally:
            # After an overflow, add evidence for exactly the answers that have been learned.
            self.add_evidence(stretch)

    def grow(self, n_new: int) -> None:
        """Add objects."""
        self.kernel.grow(n_new)

    def pack(self) -> Packed:
        """The whole state except the rule, as arrays and JSON values."""
        [kind] = [name for name, kind in _KINDS.items() if isinstance(self.kernel, kind)]
        arrays = prefixed("kernel", self.kernel.arrays()) | prefixed("evidence", self.evidence.arrays())
        return arrays, {"model": "single", "kernel_kind": kind}

    @classmethod
    def unpack(cls, arrays: Arrays, meta: dict[str, Any], rule: Rule) -> Self:
        """Restore a model from what `pack` returned, with a rule."""
        model = cls(_KINDS[meta["kernel_kind"]].from_arrays(under("kernel", arrays)), rule)
        model.evidence = Evidence.from_arrays(under("evidence", arrays))
        return model
