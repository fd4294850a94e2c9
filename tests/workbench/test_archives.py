"""An honest archive is unpacked as it was packed; a hostile one is refused before anything is written."""

import gzip
import io
import os
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from sent_stores import contents

from workbench.archives import ALWAYS_ALLOWED, is_archive, unpack
from workbench.errors import StoreError

FILES = {"a/run.json": b"{}", "a/artifact/weights": bytes(range(256)) * 100, "b.txt": b""}


def tar_of(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    mode = "w" if path.suffix == ".tar" else "w:gz"
    with tarfile.open(path, mode) as tar:
        for info, held in members:
            tar.addfile(info, io.BytesIO(held))
    return path


def plain(name: str, held: bytes = b"x") -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(held)
    return info, held


def special(name: str, sort: bytes, target: str = "/etc/passwd") -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = sort, target
    return info, b""


def zip_of(path: Path, *members: tuple[zipfile.ZipInfo | str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for info, held in members:
            opened.writestr(info, held)
    return path


def refused(archive: Path, folder: Path) -> str:
    folder.mkdir()
    with pytest.raises(StoreError) as error:
        unpack(archive, folder)
    assert list(folder.iterdir()) == [], "something was written"
    assert not (folder.parent / "evil").exists()
    return str(error.value)


@pytest.mark.parametrize("name", ["x.tar", "x.tar.gz", "x.TGZ", "x.zip"])
def test_an_honest_archive_is_unpacked_as_it_was_packed(name, tmp_path):
    archive = tmp_path / name
    if name.endswith("zip"):
        zip_of(archive, ("a/", b""), *FILES.items())
    else:
        tar_of(
            archive, special("./a", tarfile.DIRTYPE, ""), *(plain(f"./{path}", held) for path, held in FILES.items())
        )
    assert is_archive(archive)
    target = tmp_path / "out"
    target.mkdir()
    unpack(archive, target)
    assert contents(target) == FILES


@pytest.mark.parametrize("name", ["run.json", "folder", "x.rar", "tar.gz.txt"])
def test_what_is_called_otherwise_is_no_archive(name):
    assert not is_archive(Path(name))


PATHS = ["/evil", "../evil", "a/../../evil", "a\\..\\evil", "evil\n", "e\x1b[2Jvil", "x" * 1001]


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".zip"])
def test_a_path_that_leads_elsewhere_is_refused_though_others_are_fine(name, suffix, tmp_path):
    archive = tmp_path / f"x{suffix}"
    if suffix == ".zip":
        zip_of(archive, ("fine", b"x"), (name, b"x"))
    else:
        tar_of(archive, plain("fine"), plain(name))
    assert "leads elsewhere; nothing was unpacked" in refused(archive, tmp_path / "out")


@pytest.mark.parametrize(
    "sort", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.GNUTYPE_SPARSE]
)
def test_links_and_special_files_in_a_tar_are_refused(sort, tmp_path):
    archive = tar_of(tmp_path / "x.tar.gz", plain("fine"), special("evil", sort))
    said = refused(archive, tmp_path / "out")
    assert "link or special file" in said or "cannot be unpacked" in said


def test_a_file_through_a_link_is_refused(tmp_path):
    archive = tar_of(tmp_path / "x.tar", special("a", tarfile.SYMTYPE, ".."), plain("a/evil"))
    assert "link or special file" in refused(archive, tmp_path / "out")


def test_a_link_in_a_zip_is_refused(tmp_path):
    link = zipfile.ZipInfo("evil")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    assert "link or special file" in refused(zip_of(tmp_path / "x.zip", (link, b"/etc/passwd")), tmp_path / "out")


def test_one_name_twice_is_refused(tmp_path):
    assert "twice" in refused(tar_of(tmp_path / "x.tar", plain("a"), plain("./a", b"other")), tmp_path / "out")


def test_a_file_that_would_also_be_a_folder_is_refused(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(StoreError, match="both as a file and as a folder"):
        unpack(tar_of(tmp_path / "x.tar", plain("a"), plain("a/b")), tmp_path / "out")


def header(name: str, size: int, sort: bytes = tarfile.REGTYPE) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type = size, sort
    return info.tobuf(tarfile.GNU_FORMAT)


def zeros_after(head: bytes) -> Callable[[Path], None]:
    """A file that really holds, compressed to little, more than such an archive may."""

    def write(path: Path) -> None:
        with gzip.open(path, "wb", compresslevel=1) as stream:
            stream.write(head)
            for _ in range(3 * ALWAYS_ALLOWED // 2**20):
                stream.write(bytes(2**20))

    return write


def claimed_in_zip(path: Path) -> None:
    """A zip whose directory claims a size of three gigabytes for a file of few bytes."""
    zip_of(path, ("bomb", b"x" * 100))
    held = bytearray(path.read_bytes())
    place = held.index(b"PK\x01\x02")
    held[place + 24 : place + 28] = struct.pack("<I", 3 * 10**9)
    path.write_bytes(held)


BOMBS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a tar that claims more than it holds": (".tar", lambda path: path.write_bytes(header("bomb", 10**12))),
    "a tar that claims a little too much again and again": (
        ".tar.gz",
        lambda path: path.write_bytes(
            gzip.compress(b"".join(header(f"b{n}", 0) for n in range(9)) + header("b", 10**10))
        ),
    ),
    "a compressed tar": (".tar.gz", zeros_after(header("bomb", 3 * ALWAYS_ALLOWED))),
    "a long name that is far too long": (".tar.gz", zeros_after(header("long", 2 * 10**8, tarfile.GNUTYPE_LONGNAME))),
    "a long list of facts": (".tar.gz", zeros_after(header("facts", 2 * 10**8, tarfile.XHDTYPE))),
    "a zip": (".zip", lambda path: zip_of(path, ("bomb", bytes(3 * ALWAYS_ALLOWED)))),
    "a zip that lies": (".zip", claimed_in_zip),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_before_it_goes_off(bomb, tmp_path):
    suffix, write = BOMBS[bomb]
    archive = tmp_path / f"x{suffix}"
    write(archive)
    assert archive.stat().st_size < 10**7
    assert "more than" in refused(archive, tmp_path / "out")


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".zip"])
@pytest.mark.parametrize("damage", ["cut", "other bytes", "empty"])
def test_a_damaged_archive_is_told(suffix, damage, tmp_path):
    archive = tmp_path / f"x{suffix}"
    held = os.urandom(20_000)
    if suffix == ".zip":
        zip_of(archive, ("a", held))
    else:
        tar_of(archive, plain("a", held))
    whole = archive.read_bytes()
    archive.write_bytes({"cut": whole[: len(whole) // 2], "other bytes": os.urandom(len(whole)), "empty": b""}[damage])
    assert "cannot be unpacked" in refused(archive, tmp_path / "out")


def test_a_zip_that_needs_a_password_is_told(tmp_path):
    archive = zip_of(tmp_path / "x.zip", ("a", b"x"))
    held = bytearray(archive.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        held[held.index(mark) + offset] |= 1
    archive.write_bytes(held)
    assert "encrypted" in refused(archive, tmp_path / "out")
