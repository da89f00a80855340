"""Archives: the same content gives the same bytes, and no member tells anything but content."""

from __future__ import annotations

import tarfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pbtbench.images.archive import MTIME, read_tar, write_tar

names = st.from_regex(r"[a-z]{1,3}(/[a-z]{1,3}){0,2}\.py", fullmatch=True)
files = st.dictionaries(names, st.binary(max_size=20), max_size=6)


@given(files=files, data=st.data())
def test_order_of_files_does_not_change_the_bytes(
    files: dict[str, bytes], data: st.DataObject, tmp_path_factory: object
) -> None:
    folder = _folder(tmp_path_factory)
    shuffled = dict(data.draw(st.permutations(list(files.items()))))
    write_tar(folder / "one.tar", files)
    write_tar(folder / "two.tar", shuffled)
    assert (folder / "one.tar").read_bytes() == (folder / "two.tar").read_bytes()
    assert read_tar(folder / "one.tar") == files


@given(files=files)
def test_members_differ_in_name_and_content_alone(files: dict[str, bytes], tmp_path_factory: object) -> None:
    path = _folder(tmp_path_factory) / "x.tar"
    write_tar(path, files, links={"zz/link": "/target"}, owner=1000)
    with tarfile.open(path) as tar:
        members = tar.getmembers()
    assert {(m.mtime, m.uid, m.gid, m.uname) for m in members} == {(MTIME, 1000, 1000, "")}
    assert {(m.type, m.mode) for m in members} <= {
        (tarfile.DIRTYPE, 0o755),
        (tarfile.REGTYPE, 0o644),
        (tarfile.SYMTYPE, 0o777),
    }
    present = [m.name for m in members]
    assert all(str(Path(name).parent) in (".", *present[: present.index(name)]) for name in present)


def _folder(factory: object) -> Path:
    return factory.mktemp("tar")  # type: ignore[attr-defined,no-any-return]
