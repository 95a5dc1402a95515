"""All compiled functions, and nothing else.

They change arrays in place, never raise and never call Python. A function that needs LAPACK or an error message
returns a status; the Python side acts on it and calls again.
"""
