"""`python -m moothall`: the command line."""

from moothall.surfaces.cli.main import main

if __name__ == "__main__":
    main(prog_name="moot")
