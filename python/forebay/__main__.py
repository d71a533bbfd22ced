"""The command `forebay`, which is also `python -m forebay`.

It imports next to nothing before it listens to Ctrl-C: the rest takes a while to load.
"""

from __future__ import annotations

import sys
from typing import NoReturn

from . import cli
from .cli import interrupt
from .runs.faults import OUT_OF_MEMORY, lacks_memory

_BAD_INPUT = 2


def main() -> NoReturn:
    """Run the command and end the process with its exit status."""
    interrupt.listen()
    status = interrupt.INTERRUPTED
    try:
        status = cli.entry.run_command()
    except KeyboardInterrupt:
        pass
    except Exception as error:
        if not interrupt.heard():
            if not lacks_memory(error):
                raise
            sys.stderr.write(f"error: {OUT_OF_MEMORY}\n")
            status = _BAD_INPUT
    if status == interrupt.INTERRUPTED:
        interrupt.tell()
        interrupt.leave()
    sys.exit(status)


if __name__ == "__main__":
    main()
