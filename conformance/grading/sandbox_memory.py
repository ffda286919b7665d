"""How much memory a process and everything below it hold, read from /proc."""

from __future__ import annotations

import os

PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def resident(root: int) -> int:
    """Sum the memory of a process and its descendants, in bytes; pages shared after a fork count for each."""
    total, todo, seen = 0, [root], set()
    while todo:
        process = todo.pop()
        if process in seen:
            continue
        seen.add(process)
        try:
            with open(f"/proc/{process}/statm", "rb") as file:
                total += int(file.read().split()[1]) * PAGE
            for task in os.listdir(f"/proc/{process}/task"):
                with open(f"/proc/{process}/task/{task}/children", "rb") as file:
                    todo += map(int, file.read().split())
        except (OSError, ValueError, IndexError):
            continue  # it ended meanwhile, or there is no /proc
    return total
