"""`python -m actors.cli`: the same as `ahpd`."""

import sys

from actors.cli.main import main

sys.exit(main())
