"""Write result files whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import click


def write_files(contents: Mapping[Path, str]) -> None:
    """Write every file, or complain in one line and leave what was there untouched.

    Each text goes to a new file beside its target first, and takes its place only when all of them
    have been written, so that nobody sees half of one.
    """
    temporary: dict[Path, Path] = {}
    target = Path()
    try:
        for target, text in contents.items():
            if target.exists() and not target.is_file():
                raise click.UsageError(f"Cannot write {target}: not a regular file.")
            place = target.resolve()
            temporary[place] = place.with_name(f".{place.name[:100]}.{secrets.token_hex(4)}")
            with temporary[place].open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        for place, written in temporary.items():
            os.replace(written, place)
    except OSError as error:
        raise click.UsageError(f"Cannot write {target}: {error.strerror or error}.") from None
    finally:
        for written in temporary.values():
            with suppress(OSError):
                written.unlink(missing_ok=True)
