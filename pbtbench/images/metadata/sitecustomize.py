# ruff: noqa: INP001 - found through PYTHONPATH, not a package
"""Answers pip's question for the metadata of an sdist out of its own PKG-INFO.

pip downloads no sdist without asking the project's build backend what it is: that installs the
backend, unpinned, and runs the project's code on this machine, for a file that is only to be kept.
With this folder on PYTHONPATH the process that pip starts for the backend finds this module in its
place. Standard library only.
"""

import os
import sys
import types
from pathlib import Path

_BACKEND = os.environ.get("_PYPROJECT_HOOKS_BUILD_BACKEND") or os.environ.get("PEP517_BUILD_BACKEND") or ""


def get_requires_for_build_wheel(config_settings: object = None) -> list[str]:  # noqa: ARG001 - PEP 517
    """Nothing more is needed to read a file."""
    return []


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: object = None) -> str:  # noqa: ARG001
    """Write ``dist-info`` from the sdist's PKG-INFO; its name, for pip."""
    metadata = Path("PKG-INFO").read_bytes()  # the working folder is the unpacked sdist
    fields = dict(
        line.split(b": ", 1) for line in metadata.splitlines() if line.startswith((b"Name: ", b"Version: "))
    )
    name = fields[b"Name"].strip().decode().replace("-", "_")
    folder = f"{name}-{fields[b'Version'].strip().decode()}.dist-info"
    target = Path(metadata_directory, folder)
    target.mkdir()
    (target / "METADATA").write_bytes(metadata)
    return folder


if _BACKEND:
    module, _, attributes = _BACKEND.partition(":")
    stand_in = types.ModuleType(module)
    for hook in (get_requires_for_build_wheel, prepare_metadata_for_build_wheel):
        setattr(stand_in, hook.__name__, hook)
    for attribute in filter(None, attributes.split(".")):
        setattr(stand_in, attribute, stand_in)
    sys.modules[module] = stand_in
