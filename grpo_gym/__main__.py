"""`python -m grpo_gym` is the `grpo-gym` command."""

from __future__ import annotations

import sys

from grpo_gym.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
