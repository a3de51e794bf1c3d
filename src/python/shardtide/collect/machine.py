"""The device that is measured: its name, its free memory, its clocks."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import subprocess
from pathlib import Path

import torch

# A CPU's samples take this share of the memory that is free, and no more than these bytes.
CPU_MEMORY_SHARE = 0.25
MOST_CPU_BYTES = 4 * 2**30

# Tables with a cache on a GPU take this share of the host's free memory, and no more than these bytes.
HOST_MEMORY_SHARE = 0.25
MOST_HOST_BYTES = 32 * 2**30

# What nvidia-smi reports of a device; of clocks in MHz, of temperature in degrees Celsius, of power in watts.
CLOCK_FIELDS = ("clocks.sm", "clocks.mem", "temperature.gpu", "power.draw")

# A bit set of nvidia-smi, and its bits that say that a GPU runs more slowly than it could: of power (0x4), of hardware
# (0x8), of heat (0x20, 0x40), of the power supply (0x80).
THROTTLE_FIELD = "clocks_throttle_reasons.active"
THROTTLE_REASONS = {0x4: "power", 0x8: "hardware", 0x20: "heat", 0x40: "heat", 0x80: "power supply"}


def device_of(name: str) -> torch.device:
    """Returns the device `cuda`, `cuda:N` or `cpu`; of `auto` this rank's GPU if there is one. ValueError if not."""
    if name == "auto":
        name = f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        device = torch.device("meta")
    if device.type not in ("cuda", "cpu"):
        raise ValueError(f"--device must be cuda, cuda:N, cpu or auto, got {name}")
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise ValueError("--device cuda needs a GPU and PyTorch with CUDA, but torch.cuda.is_available() is false")
        if (device.index or 0) >= torch.cuda.device_count():
            raise ValueError(f"--device {name} does not exist; PyTorch has {torch.cuda.device_count()} devices")
        device = torch.device("cuda", device.index or 0)
        torch.cuda.set_device(device)
    return device


def operator_of(name: str) -> str:
    """Returns `fbgemm` or `embedding_bag`; of `auto` the former if it is installed. ValueError if FBGEMM is not."""
    installed = importlib.util.find_spec("fbgemm_gpu") is not None
    if name == "fbgemm" and not installed:
        raise ValueError("--operator fbgemm needs the package fbgemm_gpu, which is not installed")
    return ("fbgemm" if installed else "embedding_bag") if name == "auto" else name


def free_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return min(MOST_CPU_BYTES, int(_available_bytes() * CPU_MEMORY_SHARE))


def free_host_bytes() -> int:
    return min(MOST_HOST_BYTES, int(_available_bytes() * HOST_MEMORY_SHARE))


def describe(device: torch.device) -> dict[str, object]:
    software = {"torch": torch.__version__, "cuda": torch.version.cuda, "python": platform.python_version()}
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        driver = (_nvidia_smi(device, ["driver_version"]) or {}).get("driver_version")
        return {"device": properties.name, "memoryBytes": properties.total_memory, "driver": driver, **software}
    return {"device": _processor(), "threads": torch.get_num_threads(), **software}


def clocks(device: torch.device) -> dict[str, str] | None:
    """Returns clocks, temperature and power of a GPU as nvidia-smi prints them; None on a CPU or without it."""
    return _nvidia_smi(device, CLOCK_FIELDS) if device.type == "cuda" else None


def throttled(device: torch.device) -> list[str]:
    """Returns why a GPU runs more slowly than it could; nothing if it does not, or if nvidia-smi does not tell."""
    found = _nvidia_smi(device, [THROTTLE_FIELD]) if device.type == "cuda" else None
    active = 0
    with contextlib.suppress(ValueError):
        active = int(found[THROTTLE_FIELD], 16) if found else 0
    return sorted({reason for bit, reason in THROTTLE_REASONS.items() if active & bit})


def _available_bytes() -> int:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _nvidia_smi(device: torch.device, fields: tuple[str, ...] | list[str]) -> dict[str, str] | None:
    # CUDA numbers visible devices only, nvidia-smi all.
    identifier = f"GPU-{torch.cuda.get_device_properties(device).uuid}"
    command = ["nvidia-smi", "-i", identifier, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    try:
        printed = subprocess.run(command, capture_output=True, check=True, text=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return dict(zip(fields, (value.strip() for value in printed.split(","))))


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
