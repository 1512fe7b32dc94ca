"""Where code that is named on a command line is looked for: among what is installed, then in the current folder."""

from __future__ import annotations

import os
import sys


def see_current_folder() -> None:
    """Let modules in the current folder be imported, behind all installed ones."""
    folder = os.getcwd()
    if folder not in sys.path and "" not in sys.path:
        sys.path.append(folder)
