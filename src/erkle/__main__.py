"""`python -m erkle` is the `erkle` command."""

from erkle.cli import main

if __name__ == "__main__":
    main()
