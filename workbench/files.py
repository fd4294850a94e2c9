"""Files written whole or not at all, and hashes of what they hold."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

LOCK_SUFFIX = ".lock"


def canonical_json(value: Any) -> str:
    """Spell a JSON value in exactly one way, so that equal values hash alike."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def hash_of(value: Any) -> str:
    """Hash a JSON value by content."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def file_hash(path: Path) -> str:
    """Hash a file by content."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def folder_hashes(folder: Path) -> dict[str, str]:
    """Hash every file below a folder, by its path relative to the folder."""
    return {path.relative_to(folder).as_posix(): file_hash(path) for path in files_below(folder)}


def files_below(folder: Path) -> list[Path]:
    """List every file below a folder, in a fixed order."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def bytes_below(path: Path) -> int:
    """How many bytes a file, or all files below a folder, hold; what goes away meanwhile counts nothing."""
    inside = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
    held = 0
    for file in inside if path.is_dir() else [path]:
        with suppress(OSError):
            held += file.lstat().st_size
    return held


@contextmanager
def lent_folder(partials: Path, name: str) -> Iterator[Path]:
    """Lend an empty folder that goes away afterwards, also when this process is killed: see ``sweep_partials``.

    A lock beside the folder tells a living borrower from a dead one.
    """
    partials.mkdir(parents=True, exist_ok=True)
    partial = partials / f"{name}.{os.getpid()}.{os.urandom(4).hex()}"
    lock = FileLock(f"{partial}{LOCK_SUFFIX}")
    with lock:
        partial.mkdir()
        try:
            yield partial
        finally:
            shutil.rmtree(partial, ignore_errors=True)
            Path(lock.lock_file).unlink(missing_ok=True)


@contextmanager
def written_whole(target: Path, partials: Path) -> Iterator[Path]:
    """Lend an empty folder; on a clean exit it becomes ``target``, otherwise nothing of it remains.

    The folder is flushed to disk before its one atomic rename. When ``target`` came into being meanwhile (another
    process was faster), that one stays and ours is discarded.
    """
    with lent_folder(partials, target.name) as partial:
        yield partial
        flush_folder(partial)
        _rename_unless_there(partial, target)


def replace_folder(new: Path, target: Path) -> None:
    """Put a finished folder in the place of what is there; both must be on one file system."""
    target.parent.mkdir(parents=True, exist_ok=True)
    old = new.with_name(f"{new.name}.old")
    if target.exists():
        target.rename(old)
    new.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def discard_folder(folder: Path, partials: Path) -> None:
    """Remove a folder so that it is there whole or not at all, also when this process is killed meanwhile.

    It is moved among the partials in one atomic step before anything in it is deleted; see ``sweep_partials``.
    """
    with lent_folder(partials, folder.name) as away:
        folder.rename(away / folder.name)
        _flush(folder.parent)


def sweep_partials(partials: Path) -> int:
    """Remove what killed writers left behind; living writers hold their lock and are left alone."""
    swept = 0
    left = {path.name.removesuffix(LOCK_SUFFIX) for path in partials.glob("*")}
    for name in sorted(left):
        lock = FileLock(partials / f"{name}{LOCK_SUFFIX}", timeout=0)
        try:
            with lock:
                swept += (partials / name).is_dir()
                shutil.rmtree(partials / name, ignore_errors=True)
                Path(lock.lock_file).unlink(missing_ok=True)
        except Timeout:
            continue
    return swept


def write_text_whole(path: Path, text: str) -> None:
    """Replace a file's text in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        partial.write_text(text, encoding="utf-8")
        _flush(partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def flush_folder(folder: Path) -> None:
    """Force a folder's files and names to disk."""
    for path in files_below(folder):
        _flush(path)
    for path in [folder, *(item for item in folder.rglob("*") if item.is_dir())]:
        _flush(path)


def is_disk_full(error: BaseException) -> bool:
    """Tell whether an error, or what caused it, means that there is no room left."""
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return True
    # The safetensors, ONNX and OpenVINO writers report the operating system's error as text only, the last without why.
    words = str(error)
    signs = ("No space left on device", "os error 28", "File too large", "iostream error")
    if any(sign in words for sign in signs):
        return True
    return error.__cause__ is not None and is_disk_full(error.__cause__)


def _rename_unless_there(partial: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        partial.rename(target)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise
    _flush(target.parent)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
