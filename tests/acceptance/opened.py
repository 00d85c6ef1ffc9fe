"""The command `moot` with every file that it opens written down. Not a test: `test_roundtable_folder.py` starts it.

    opened.py LOG WORD…

It begins in a process that has Moot loaded (see warm.py).
"""

import os
import sys
from pathlib import Path

LOG = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def heard(event: str, details: tuple[object, ...]) -> None:
    if event == "open":
        os.write(
            LOG,
            f"{os.fsdecode(details[0]) if isinstance(details[0], str | bytes) else details[0]}\n".encode(),
        )


if __name__ == "__main__":
    from moothall.surfaces.cli.main import main

    Path(sys.argv[1]).touch()
    sys.addaudithook(heard)
    main.main(sys.argv[2:], prog_name="moot")
