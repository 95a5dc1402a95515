"""Kernels hold what a learner has learned. They learn answers, give distances, grow and can be saved."""

from erkle.kernels.dense import DenseKernel

__all__ = ["DenseKernel"]
