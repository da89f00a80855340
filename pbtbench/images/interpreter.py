"""The Python that runs inside a sandbox: which one it is and what it can load."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property

from packaging.tags import Tag, compatible_tags, cpython_tags

from pbtbench.errors import BuildError
from pbtbench.sandbox.base import SITE_PACKAGES

OLDEST = (3, 12)

PROBE = """
import importlib.util, json, os, platform, sys
print(json.dumps({
    "version": list(sys.version_info[:3]),
    "implementation": sys.implementation.name,
    "magic": importlib.util.MAGIC_NUMBER.hex(),
    "cache_tag": sys.implementation.cache_tag,
    "prefix": sys.base_prefix,
    "executable": os.path.realpath(sys.executable),
    "machine": platform.machine(),
    "libc": platform.libc_ver(),
}))
"""
"""Run with ``python -I -S -c``; ``Interpreter.parse`` reads what it prints."""


@dataclass(frozen=True)
class Interpreter:
    """One CPython, as ``PROBE`` saw it."""

    version: str
    """``major.minor.patch``."""
    magic: str
    """The bytecode magic number, hex."""
    cache_tag: str
    prefix: str
    executable: str
    platforms: tuple[str, ...]
    """Platform tags of the wheels that it can load, best first."""

    @property
    def minor(self) -> str:
        """``major.minor``."""
        return ".".join(self.version.split(".")[:2])

    @property
    def site_packages(self) -> str:
        """Where packages lie inside the sandbox."""
        return SITE_PACKAGES.format(minor=self.minor)

    @cached_property
    def tags(self) -> frozenset[Tag]:
        """Tags of all wheels that it can load."""
        version = tuple(map(int, self.minor.split(".")))
        name = "cp{}{}".format(*version)
        return frozenset(
            [
                *cpython_tags(version, [name], self.platforms),
                *compatible_tags(version, name, self.platforms),
            ]
        )

    @property
    def identity(self) -> str:
        """What decides the bytecode it compiles: part of cache keys."""
        return f"{self.cache_tag}-{self.version}-{self.magic}"

    @classmethod
    def parse(cls, output: str, where: str) -> Interpreter:
        """Read what ``PROBE`` printed; ``where`` names the Python for error messages."""
        try:
            facts = json.loads(output)
            version = tuple(facts["version"])
            name = facts["implementation"]
        except (ValueError, KeyError, TypeError) as error:
            raise BuildError("this Python does not say what it is", where=where) from error
        if name != "cpython" or version < OLDEST:
            raise BuildError(
                f"{name} {'.'.join(map(str, version))} cannot run the tests",
                where=where,
                hint=f"Name a base with CPython {'.'.join(map(str, OLDEST))} or newer",
            )
        return cls(
            version=".".join(map(str, version)),
            magic=facts["magic"],
            cache_tag=facts["cache_tag"],
            prefix=facts["prefix"],
            executable=facts["executable"],
            platforms=_platforms(facts["machine"], *facts["libc"]),
        )


def _platforms(machine: str, libc: str, libc_version: str) -> tuple[str, ...]:
    """Tags of PEP 600 and PEP 656, newest first, down to the oldest that today's wheels carry."""
    if libc == "glibc":
        newest = int(libc_version.split(".")[1])
        tags = [f"manylinux_2_{minor}_{machine}" for minor in range(newest, 16, -1)]
        return (*tags, f"manylinux2014_{machine}", f"linux_{machine}")
    # musl does not tell its version; wheels for 1.1 and 1.2 are what exists
    return (f"musllinux_1_2_{machine}", f"musllinux_1_1_{machine}", f"linux_{machine}")
