"""`python -m toolcalls` is `toolcalls`."""

import sys

from toolcalls.cli import main

if __name__ == "__main__":
    sys.exit(main())
