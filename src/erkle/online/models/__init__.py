"""What an `ERKLE` can consist of: one kernel, kernels in a race, or fits of all answers."""
