"""`python -m kinepack` is the `kinepack` command."""

from kinepack.cli import main

if __name__ == "__main__":
    main()
