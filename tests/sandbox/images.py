"""The smallest local image that the sandbox takes."""

from __future__ import annotations

import io
import json
import sys
import tarfile
from pathlib import Path

from pbtbench.sandbox.base import Archive

MINOR = "{}.{}".format(*sys.version_info)
MTIME = 1_000_000_000


def make_local_image(folder: Path) -> Path:
    """An image over this Python, with one dependency called ``dep``."""
    prefix = Path(sys.base_prefix)
    executable = f"bin/python{MINOR}"
    inside = Path("/usr" if prefix == Path("/usr") else "/usr/local")
    venv = folder / "venv"
    package = venv / f"lib/python{MINOR}/site-packages/dep"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("NAME = 'dep'\n")
    (venv / "bin").mkdir()
    (venv / "bin/python").symlink_to(inside / executable)
    (venv / "pyvenv.cfg").write_text(f"home = {inside}/bin\ninclude-system-site-packages = false\n")
    facts = {"python": MINOR, "prefix": str(prefix), "executable": executable}
    (folder / "image.json").write_text(json.dumps(facts))
    return folder


def make_tar(path: Path, contents: dict[str, bytes | None]) -> Path:
    """A tar of root's files and folders (None), all with the same mtime."""
    with tarfile.open(path, "w") as tar:
        for name, data in contents.items():
            info = tarfile.TarInfo(name)
            info.mtime = MTIME
            if data is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(info)
            else:
                info.size, info.mode = len(data), 0o644
                tar.addfile(info, io.BytesIO(data))
    return path


def library_archive(folder: Path, site_packages: str, *, body: bytes = b"VALUE = 1\n") -> Archive:
    """An archive with the package ``library``."""
    contents = {"library": None, "library/__init__.py": body, "library/deep.py": b"DEEP = 1\n"}
    return Archive(make_tar(folder / "library.tar", contents), site_packages)
