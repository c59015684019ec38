"""``python -m minitorch.distributed.launch``: the launcher under its old name."""

import sys

from .run import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main([a for a in sys.argv[1:] if a not in ("--use-env", "--use_env")]))
