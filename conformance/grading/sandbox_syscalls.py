"""A seccomp filter: the system calls that a candidate has no use for, refused.

It is a list of what is refused, so that honest programs meet it seldom: other processes' memory,
namespaces and mounts, kernel interfaces with a record of holes, memory that no limit counts, and
every socket that is not a Unix one (some kinds, such as `AF_VSOCK`, know no namespaces).
"""

from __future__ import annotations

import os
import struct
import sys
from functools import cache

# name: (x86-64, arm64)
REFUSED = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "semget": (64, 190),
    "msgget": (68, 186),
    "vmsplice": (278, 75),
    "userfaultfd": (323, 282),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "fanotify_init": (300, 262),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "syslog": (103, 116),
    "personality": (135, 92),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    "mbind": (237, 235),
    "set_mempolicy": (238, 237),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
}
CLONE3, CLONE, SOCKET = (435, 435), (56, 220), (41, 198)
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
NEW_NAMESPACES = 0x7E020000
OTHER_ABI = 0x40000000  # x32 calls on x86-64
EPERM, ENOSYS, EAFNOSUPPORT, AF_UNIX = 1, 38, 97, 1
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, ERROR = 0x7FFF0000, 0x00050000
NUMBER_AT, MACHINE_AT, FIRST_ARGUMENT_AT = 0, 4, 16


@cache
def program() -> bytes | None:
    """Assemble the filter; nothing for a machine whose numbers are not known here."""
    if sys.platform != "linux" or os.uname().machine not in MACHINES:
        return None
    column, machine = MACHINES[os.uname().machine]
    # (operation, operand, label if it holds, label if not); the label "" is the next line.
    lines: list[tuple[int, int, str, str]] = [
        (LOAD, MACHINE_AT, "", ""),
        (EQUAL, machine, "", "refuse"),
        (LOAD, NUMBER_AT, "", ""),
        (AT_LEAST, OTHER_ABI, "refuse", ""),
        *((EQUAL, numbers[column], "refuse", "") for numbers in REFUSED.values()),
        # The C library asks for clone3 first, whose flags a filter cannot see, and then for clone.
        (EQUAL, CLONE3[column], "unknown", ""),
        (EQUAL, CLONE[column], "clone", ""),
        (EQUAL, SOCKET[column], "socket", "allow"),
    ]
    labels = {"clone": len(lines)}
    lines += [(LOAD, FIRST_ARGUMENT_AT, "", ""), (ANY_BIT, NEW_NAMESPACES, "refuse", "allow")]
    labels["socket"] = len(lines)
    lines += [(LOAD, FIRST_ARGUMENT_AT, "", ""), (EQUAL, AF_UNIX, "allow", "no family")]
    for label, result in (
        ("allow", ALLOW),
        ("refuse", ERROR | EPERM),
        ("unknown", ERROR | ENOSYS),
        ("no family", ERROR | EAFNOSUPPORT),
    ):
        labels[label] = len(lines)
        lines.append((RETURN, result, "", ""))
    packed = []
    for at, (operation, operand, yes, no) in enumerate(lines):
        jumps = [labels[label] - at - 1 if label else 0 for label in (yes, no)]
        packed.append(struct.pack("=HBBI", operation, *jumps, operand))
    return b"".join(packed)
