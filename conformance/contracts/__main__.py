"""Run as `python -m conformance.contracts`."""

from conformance.contracts.command import main

raise SystemExit(main())
