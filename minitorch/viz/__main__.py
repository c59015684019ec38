"""The command line of the views: ``python -m minitorch.viz contact-sheet DIR``."""

import argparse
import sys

from .contact_sheet import contact_sheet


def main(argv=None):
    parser = argparse.ArgumentParser("python -m minitorch.viz", description="Pictures of what happens inside.")
    commands = parser.add_subparsers(dest="command", required=True)
    sheet = commands.add_parser("contact-sheet", help="write a page of all views, and PNGs where a Chromium is")
    sheet.add_argument("dir", help="the folder to write to")
    args = parser.parse_args(argv)
    print(contact_sheet(args.dir))
    return 0


if __name__ == "__main__":
    sys.exit(main())
