"""Running pip, the user's own as it is configured, and saying in one line what went wrong.

Nothing here names an index: index, proxies, certificates and credentials come from pip's own
configuration files and ``PIP_*`` variables.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pbtbench.errors import BuildError, DiskFullError, DownloadError, HashMismatchError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbtbench.images.interpreter import Interpreter

PURE_BUILD = {
    "CBOR2_BUILD_C_EXTENSION": "0",
    "FROZENDICT_PURE_PY": "1",
    "MSGPACK_PUREPYTHON": "1",
    "MULTIDICT_NO_EXTENSIONS": "1",
    "PYRSISTENT_NO_C_EXTENSION": "1",
    "PYYAML_FORCE_LIBYAML": "0",
    "WHENEVER_NO_BUILD_RUST_EXT": "1",
    "YARL_NO_EXTENSIONS": "1",
}
"""What libraries with an accelerated twin document for a build without it."""

_METADATA = Path(__file__).parent / "metadata"
_TIMEOUT = 900
_UNREACHABLE = re.compile(
    r"NewConnectionError|NameResolutionError|name resolution|Max retries exceeded|ConnectTimeout|ReadTimeout"
    r"|Connection (?:refused|reset|aborted)|Network is unreachable|ProxyError|SSLError|CERTIFICATE_VERIFY",
    re.IGNORECASE,
)
_MISSING = re.compile(
    r"No matching distribution found for (\S+)|Could not find a version that satisfies the requirement (\S+)"
)
_HASHES = re.compile(r"DO NOT MATCH THE HASHES.*?Expected sha256\s+(\w{64}).*?Got\s+(\w{64})", re.DOTALL)


def download_wheels(
    requirements: Sequence[str], into: Path, target: Interpreter, *, dependencies: bool = False
) -> None:
    """Put the wheels of ``requirements`` that ``target`` can load in the folder ``into``.

    With ``dependencies`` pip also resolves what they require; without, every line must carry hashes.
    Raises DownloadError, HashMismatchError, DiskFullError.
    """
    arguments = [
        "download",
        "--only-binary",
        ":all:",
        "--implementation",
        "cp",
        "--python-version",
        target.minor,
    ]
    for platform in target.platforms:
        arguments += ["--platform", platform]
    arguments += ["--dest", str(into)]
    if not dependencies:
        arguments += ["--no-deps", "--require-hashes"]
    _pip(
        arguments,
        requirements,
        into,
        f"for Python {target.minor} on {target.platforms[-1].removeprefix('linux_')}",
    )


def download_sdist(name: str, requirement: str, into: Path) -> None:
    """Put the sdist that ``requirement`` (one line, with hashes or without) pins in the folder ``into``.

    Without running the project's build (see ``metadata``), or, where that cannot be had, with it.
    """
    arguments = ["download", "--no-deps", "--no-binary", name, "--dest", str(into)]
    kind = "as a source distribution"
    search = os.pathsep.join(filter(None, [str(_METADATA), os.environ.get("PYTHONPATH")]))
    try:
        _pip([*arguments, "--no-build-isolation"], [requirement], into, kind, {"PYTHONPATH": search})
    except HashMismatchError:
        raise
    except DownloadError as error:
        if error.hint is not None:  # the index could not be reached
            raise
        _pip(arguments, [requirement], into, kind)


def build_wheel(sdist: Path, into: Path) -> None:
    """Build the wheel of an sdist without its compiled parts. Raises BuildError, DownloadError."""
    try:
        _pip(["wheel", "--no-deps", "--wheel-dir", str(into), str(sdist)], (), into, "", PURE_BUILD)
    except HashMismatchError:
        raise
    except DownloadError as error:
        if error.hint is not None:  # the index could not be reached
            raise
        raise BuildError(f"no wheel could be built from it: {error.message}", where=sdist.name) from error


def _pip(
    arguments: Sequence[str],
    requirements: Sequence[str],
    into: Path,
    kind: str,
    env: Mapping[str, str] | None = None,
) -> None:
    lines = into / "requirements.in"
    lines.write_text("".join(f"{line}\n" for line in requirements), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pip",
        *arguments,
        "--no-input",
        "--disable-pip-version-check",
        "--progress-bar",
        "off",
    ]
    if requirements:
        command += ["--requirement", str(lines)]
    try:
        done = subprocess.run(
            command,
            cwd=into,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DownloadError(f"pip did not finish within {_TIMEOUT} seconds") from error
    finally:
        lines.unlink(missing_ok=True)
    if done.returncode:
        names = ", ".join(line.split(" ")[0] for line in requirements) or Path(arguments[-1]).name
        raise _error(done.stdout + done.stderr, names, kind, into)


def _error(output: str, names: str, kind: str, into: Path) -> Exception:
    """The error that pip's output speaks of."""
    if "No module named pip" in output:
        return DownloadError(
            "this Python has no pip", where=sys.executable, hint="Install pip into pbtbench's environment"
        )
    if "No space left on device" in output or "Disk quota exceeded" in output:
        return DiskFullError("no space left while downloading", where=str(into.parent))
    if mismatch := _HASHES.search(output):
        expected, got = mismatch.groups()
        return HashMismatchError(
            f"the package index gave another file: sha256 {got} instead of the pinned {expected}",
            where=names,
            hint="Check the pin, and whether a proxy or mirror changes files",
        )
    if _UNREACHABLE.search(output):
        return DownloadError(
            "the package index cannot be reached",
            where=names,
            hint="Check the network and pip's index and proxy settings",
        )
    if missing := _MISSING.search(output):
        return DownloadError(
            f"the package index does not have it {kind}".rstrip(), where=missing[1] or missing[2]
        )
    errors = [
        line for line in output.splitlines() if line.startswith("ERROR:")
    ] or output.strip().splitlines()[-1:]
    return DownloadError(
        f"pip failed: {errors[0].removeprefix('ERROR:').strip() if errors else 'no output'}", where=names
    )
