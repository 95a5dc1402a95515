"""Kernels: what a learner has learned, behind a few methods: learn rows, give distances, grow, save."""

from erkle.kernels.dense import DenseKernel

__all__ = ["DenseKernel"]
