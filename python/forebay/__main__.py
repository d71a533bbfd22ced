"""`python -m forebay` is the command `forebay`."""

from .cli import main

if __name__ == "__main__":
    main()
