"""Runs TorchRec's own code on CPUs, from an installed package or a source checkout.

FBGEMM has no package for every machine, and TorchRec needs it. Where it is not installed, slow and simple stand-ins of
what a sharded EmbeddingBagCollection calls take its place: kernels.py and operators.py. They are written from FBGEMM's
documented meaning, and contain none of its code.
"""

from __future__ import annotations

import importlib.util
import os
import sys


def why_not() -> str | None:
    """Returns why TorchRec cannot be run here; None if it can."""
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed"
    source = os.environ.get("TORCHREC_SOURCE")
    if source:
        found = os.path.isdir(os.path.join(source, "torchrec"))
        return None if found else f"TORCHREC_SOURCE={source} has no folder torchrec"
    if importlib.util.find_spec("torchrec") is None:
        return "torchrec is not installed, and TORCHREC_SOURCE does not name a checkout of it"
    return None


def install() -> None:
    """Makes torchrec importable: from TORCHREC_SOURCE if it is set, with stand-ins of what is not installed."""
    if os.environ.get("TORCHREC_SOURCE"):
        sys.path.insert(0, os.environ["TORCHREC_SOURCE"])
    if importlib.util.find_spec("fbgemm_gpu") is None:
        # Torch is imported first: it looks for some of the names itself.
        import torch  # noqa: F401

        from torchrec_source import imports, kernels, operators

        imports.install(kernels.NAMES)
        operators.define()
