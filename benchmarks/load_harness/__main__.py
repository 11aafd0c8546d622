"""The command."""

import argparse
import sys

from memlane_server.bench.load import GeneratorFailed

from . import __doc__ as about
from . import neighbours, overload, report, scenarios, soak
from .parts import Options

PARTS = {"scenarios": scenarios, "soak": soak, "overload": overload, "neighbours": neighbours}


def main() -> None:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", default=",".join(PARTS), help=f"parts, parted by commas: {', '.join(PARTS)}"
    )
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    parser.add_argument("--soak-seconds", type=float, default=60.0)
    arguments = parser.parse_args()
    names = arguments.only.split(",")
    if unknown := sorted(set(names) - set(PARTS)):
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    options = Options(
        seconds=arguments.seconds,
        soak_seconds=arguments.soak_seconds,
        progress=lambda message: print(message, file=sys.stderr, flush=True),
    )
    failed = False
    for name in names:
        try:
            section = PARTS[name].run(options)
        except GeneratorFailed as error:
            print(f"{name} could not be measured: {error}", file=sys.stderr)
            failed = True
            continue
        report.write({name: section})
        print(f"\n{section.title}\n{report.checks_table(section)}")
        failed = failed or not all(check.holds for check in section.checks)
    print(f"\nwritten: {report.FOLDER}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
