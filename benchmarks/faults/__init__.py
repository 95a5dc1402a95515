"""Bad days of a server: real processes under load, a fault for each thing that can break, and what was lost.

``python -m benchmarks.faults`` runs all faults and writes benchmarks/faults.md. Names of faults as arguments run only
these. The exit status is 1 if anything acknowledged is lost or doubled, or if a server does not recover.
"""
