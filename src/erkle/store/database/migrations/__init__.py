"""The versions of the tables; the files of a released version are never edited."""
