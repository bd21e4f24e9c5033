"""The command line, `ahpd`. A verb is a module here; `arguments` says what can be typed, `context` what all need.

Exit codes: 0 done, 1 it failed (or `doctor` found something), 2 wrong arguments or a wrong configuration, 3 no daemon
runs here, 130 interrupted.
"""

from actors.cli.main import main

__all__ = ["main"]
