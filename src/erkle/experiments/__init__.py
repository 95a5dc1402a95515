"""The experiments of the paper. One command makes the data and the picture of each figure, and checks the claims.

Work is cut into units: one method with one setting on one trial of one data set. Each unit saves its result in a file,
so that an interrupted run can continue and several processes or machines can share the work.
"""
