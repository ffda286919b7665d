"""Resource limits, set by `prlimit` where there is one and by the shell elsewhere."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """What a candidate may use.

    `cpu` seconds, `address_space` and `data` bytes, `open_files` and `file_size` bytes hold for each
    process; `processes` counts processes and threads together; `scratch` is the size of its folder
    and `memory_total` of all its processes, in bytes. An `address_space` of 0 means none, which
    virtual machines that reserve much and use little need.
    """

    cpu: int = 600
    address_space: int = 1024 * MIB
    data: int = 512 * MIB
    open_files: int = 128
    file_size: int = 16 * MIB
    processes: int = 64
    scratch: int = 16 * MIB
    memory_total: int = 1024 * MIB


def limited(command: Sequence[str], limits: Limits, *, processes: bool) -> list[str]:
    """Put the limits before a command. `processes`: also that one, which would count a user's other programs."""
    if shutil.which("prlimit"):
        return [*_prlimit(limits, processes), *command]
    sets = [f"ulimit -t {limits.cpu}", f"ulimit -n {limits.open_files}", f"ulimit -f {limits.file_size // 512}"]
    sets += ["ulimit -c 0", f"ulimit -d {limits.data // 1024} 2>/dev/null"]
    sets += [f"ulimit -v {limits.address_space // 1024} 2>/dev/null"] if limits.address_space else []
    return ["/bin/sh", "-c", f'{"; ".join(sets)}; exec "$@"', "sh", *command]


def _prlimit(limits: Limits, processes: bool) -> list[str]:
    sizes = {
        "cpu": limits.cpu,
        "as": limits.address_space or "unlimited",
        "data": limits.data,
        "nofile": limits.open_files,
        "fsize": limits.file_size,
        "core": 0,
        "memlock": 0,
        "msgqueue": 0,
    }
    if processes:
        sizes["nproc"] = limits.processes
    return ["prlimit", *(f"--{name}={size}:{size}" for name, size in sizes.items()), "--"]
