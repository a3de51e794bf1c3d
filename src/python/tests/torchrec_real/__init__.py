"""Runs plans on the installed packages torchrec and fbgemm-gpu-cpu, with gloo, on CPUs.

See src/python/tests/requirements.txt for the packages. Nothing of them is replaced.
"""

from __future__ import annotations

import importlib.util


def why_not() -> str | None:
    """Returns why TorchRec cannot be run here; None if it can."""
    missing = [name for name in ("torch", "fbgemm_gpu", "torchrec") if importlib.util.find_spec(name) is None]
    return f"{', '.join(missing)} is not installed" if missing else None
