"""The experiments of the paper, each figure from one command: data, picture and verdict on what the paper says.

Work is cut into units, a method on one trial of one data set with one setting. Each leaves a file of its own, so that
a run that was stopped goes on where it was, and processes or machines can share it.
"""
