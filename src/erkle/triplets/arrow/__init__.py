"""Answers in Parquet and Arrow files, and in folders of such files.

They are read with pyarrow, which is imported when the first file is opened.
"""

from erkle.triplets.arrow.answers import ArrowAnswers, is_arrow
from erkle.triplets.arrow.writing import write_arrow

__all__ = ["ArrowAnswers", "is_arrow", "write_arrow"]
