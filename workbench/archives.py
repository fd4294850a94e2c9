"""Archives: tar and zip files that strangers sent, unpacked so that they can do no harm."""

from __future__ import annotations

import gzip
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from workbench.errors import StoreError, first_line
from workbench.sizes import spoken_size

TAR_SUFFIXES = (".tar", ".tar.gz", ".tgz")
ZIP_SUFFIXES = (".zip",)
# Weights hardly shrink, records shrink to a twentieth; what claims much more than that only wants to fill the disk.
LARGEST_RATIO = 100
ALWAYS_ALLOWED = 100 * 10**6
MOST_FILES = 1_000_000
# Headers of honest archives are small; a reader believes whatever length a header claims.
LARGEST_READ = 2**20
CHUNK = 2**18
UNREADABLE = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(ValueError, OverflowError, RecursionError, NotImplementedError),
)


@dataclass(frozen=True)
class Member:
    """A plain file in an archive: where it belongs, how long it says it is, and how to open it."""

    path: PurePosixPath
    size: int
    open: Callable[[], IO[bytes]]


def is_archive(path: Path) -> bool:
    """Whether a file's name says that it is an archive we can unpack."""
    return path.name.lower().endswith((*TAR_SUFFIXES, *ZIP_SUFFIXES))


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive into an empty folder; nothing is written before every name and size in it was checked.

    Links, special files, paths that lead elsewhere, and sizes that no honest archive has are refused.
    """
    most = min(shutil.disk_usage(folder).free, ALWAYS_ALLOWED + LARGEST_RATIO * archive.stat().st_size)
    try:
        for _ in _checked(archive, most):
            pass
        for member in _checked(archive, most):
            _write(member, folder.joinpath(*member.path.parts), archive)
    except StoreError:
        raise
    except UNREADABLE as error:
        raise StoreError(f"{archive} cannot be unpacked ({first_line(error)})") from None


def _checked(archive: Path, most: int) -> Iterator[Member]:
    """The members one by one, each judged before the next header is read."""
    seen: set[PurePosixPath] = set()
    total = 0
    is_zip = archive.name.lower().endswith(ZIP_SUFFIXES)
    for member in (_zip_members if is_zip else _tar_members)(archive, most):
        total += member.size
        if total > most:
            raise StoreError(
                f"{archive} claims to hold more than {spoken_size(most)}, which is more than such an archive can hold "
                "or this disk has room for; nothing was unpacked"
            )
        if member.path in seen or len(seen) >= MOST_FILES:
            raise StoreError(f"{archive} holds {str(member.path)!r} twice or too many files; nothing was unpacked")
        seen.add(member.path)
        yield member


def _tar_members(archive: Path, most: int) -> Iterator[Member]:
    with ExitStack() as opened:
        stream: Any = opened.enter_context(archive.open("rb"))
        if not archive.name.lower().endswith(".tar"):
            stream = opened.enter_context(gzip.GzipFile(fileobj=stream))
        metered = cast(IO[bytes], Metered(stream, 2 * most + ALWAYS_ALLOWED))
        tar = opened.enter_context(tarfile.open(fileobj=metered, mode="r:"))
        for info in tar:
            path = _safe_path(info.name, archive)
            if info.isdir():
                continue
            if not info.isreg() or info.issparse():
                raise StoreError(f"{archive} holds {info.name!r}, a link or special file; nothing was unpacked")
            yield Member(path, info.size, cast(Callable[[], IO[bytes]], partial(tar.extractfile, info)))


def _zip_members(archive: Path, most: int) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as opened:
        for info in opened.infolist():
            path = _safe_path(info.filename, archive)
            if info.is_dir():
                continue
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in {0, stat.S_IFREG}:
                raise StoreError(f"{archive} holds {info.filename!r}, a link or special file; nothing was unpacked")
            if info.flag_bits & 1:
                raise StoreError(f"{archive} is encrypted; unpack it yourself and import the folder")
            yield Member(path, info.file_size, partial(opened.open, info))


def _safe_path(name: str, archive: Path) -> PurePosixPath:
    path = PurePosixPath(name)
    strange = not name.isprintable() or "\\" in name or len(name) > 1000
    if strange or path.is_absolute() or ".." in path.parts:
        raise StoreError(f"{archive} holds {name[:100]!r}, a path that leads elsewhere; nothing was unpacked")
    return path


def _write(member: Member, target: Path, archive: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with member.open() as source, target.open("xb") as stream:
            shutil.copyfileobj(source, stream, CHUNK)
    except (FileExistsError, NotADirectoryError):
        raise StoreError(f"{archive} holds {str(member.path)!r} both as a file and as a folder") from None
    if target.stat().st_size != member.size:
        raise StoreError(f"{archive}: {str(member.path)!r} is not as long as it should be; the archive is damaged")


class Metered:
    """A stream that gives little at once and no more than ``most`` in all, whatever a header makes its reader ask."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream = stream
        self._left = most

    def read(self, size: int = -1) -> bytes:
        """Read some bytes."""
        self._left -= size
        if size < 0 or size > LARGEST_READ or self._left < 0:
            raise tarfile.ReadError("a header claims more than an honest archive holds")
        return self._stream.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place in the stream."""
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        """The place in the stream."""
        return self._stream.tell()

    def close(self) -> None:
        """Leave the stream to whoever opened it."""
