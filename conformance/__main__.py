"""`python -m conformance` is `slotspec`."""

from __future__ import annotations

import os
import sys

# The current folder may hold a package of our names, such as `reference`; ours come first.
if (
    sys.path
    and sys.path[0] in ("", os.getcwd())
    and not os.path.samefile(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), os.getcwd())
):
    sys.path.append(sys.path.pop(0))

from conformance.cli import main

main(prog_name="slotspec")
