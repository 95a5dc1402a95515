"""Every compiled function, and nothing else.

Arrays are changed in place, nothing here raises, and nothing calls back into Python: what needs LAPACK or an
error message is reported by a status to the Python side, which acts and calls again.
"""
