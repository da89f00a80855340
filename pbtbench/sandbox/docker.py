"""The Docker backend: one container per sandbox, without network, capabilities or a way to gain any.

``SandboxSpec.image`` is a tag. The root file system belongs to root and the sandbox user is another,
which is what makes it read-only (Docker unpacks no archive into a root that is mounted so).
"""

from __future__ import annotations

import contextlib
import io
import secrets
import socket
import tarfile
import weakref
from functools import cache
from typing import TYPE_CHECKING, Any

from pbtbench.errors import InfraError, SandboxUnavailableError
from pbtbench.sandbox import modules, owner
from pbtbench.sandbox.base import WORKSPACE, Archive, Check, Sandbox, SandboxSpec
from pbtbench.sandbox.container import PYTHON, DockerSandbox
from pbtbench.sandbox.inner.setup import most_files
from pbtbench.sandbox.layout import GID, HOSTNAME, UID, WRITABLE, check_archives

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from docker.api.client import APIClient

RUN_LABEL = "pbtbench.run"
OWNER_LABEL = "pbtbench.owner"
CLIENT_SECONDS = 300
_PING_SECONDS = 5
_EPOCH = 1577836800
"""2020-01-01: the time of everything that we put into a sandbox."""
_COVERED = ("/var/tmp", "/run/lock")  # noqa: S108 - paths inside
"""Where images tend to let everybody write, uncapped; covered by an empty place that nobody can write to."""


class DockerBackend:
    """Starts sandboxes with the Docker engine that the environment (or Docker's current context) names."""

    name = "docker"

    def __init__(self) -> None:
        self._connected: APIClient | None = None
        self._bare_workspaces: set[str] = set()

    def check(self) -> list[Check]:
        """Whether an engine answers, and which of our limits it can enforce."""
        try:
            info = self._client().info()
        except SandboxUnavailableError as error:
            return [Check("docker engine", ok=False, detail=error.message, hint=error.hint or "")]
        except Exception as error:  # noqa: BLE001 - a check never raises
            return [Check("docker engine", ok=False, detail=str(error))]
        checks = [Check("docker engine", ok=True, detail=f"version {info.get('ServerVersion')} answers")]
        for key, what in (("MemoryLimit", "memory"), ("PidsLimit", "processes"), ("CpuCfsQuota", "cpus")):
            if not info.get(key):
                hint = "Enable this control group controller for Docker"
                checks.append(Check("docker limits", ok=False, detail=f"{what} cannot be limited", hint=hint))
        return checks

    def start(self, spec: SandboxSpec) -> Sandbox:
        """Start a container. Raises SandboxUnavailableError or InfraError."""
        from docker.errors import DockerException, ImageNotFound
        from requests.exceptions import RequestException

        check_archives(spec)
        client = self._client()
        name = f"pbtbench-{secrets.token_hex(6)}"
        try:
            try:
                created = client.create_container_from_config(  # type: ignore[no-untyped-call]
                    _configuration(client, spec), name
                )
            except ImageNotFound as error:
                raise SandboxUnavailableError(
                    f"there is no Docker image {spec.image}", hint="Build the images first"
                ) from error
            sandbox = DockerSandbox(client, created["Id"], name, spec)
            try:
                self._fill(client, created["Id"], sandbox, spec)
            except BaseException:
                sandbox.close()
                raise
        except (DockerException, RequestException) as error:
            raise InfraError(f"the container did not start: {_line(error)}", where=name) from error
        return sandbox

    def sweep(self, label: str | None = None, *, dry_run: bool = False) -> list[str]:
        """Remove containers (with ``label``) whose owner is dead; never one whose owner lives."""
        from docker.errors import DockerException
        from requests.exceptions import RequestException

        client = self._client()
        removed = []
        filters = {"label": [OWNER_LABEL, *([f"{RUN_LABEL}={label}"] if label is not None else [])]}
        with contextlib.suppress(RequestException):
            for container in client.containers(all=True, filters=filters):
                if owner.is_dead(container["Labels"][OWNER_LABEL]):
                    with contextlib.suppress(DockerException):
                        if not dry_run:
                            client.remove_container(container["Id"], force=True, v=True)
                        removed.append(container["Names"][0].lstrip("/"))
        return removed

    def _fill(self, client: APIClient, container: str, sandbox: DockerSandbox, spec: SandboxSpec) -> None:
        """Put our code and the archives in, start, and give the writable workspace its content."""
        client.put_archive(container, "/", _own_code())
        for archive in spec.archives:
            if not archive.writable:
                _put_archive(client, container, archive)
        workspace = self._image_workspace(client, container, spec.image)
        client.start(container)
        if workspace:
            sandbox.unpack(workspace, WORKSPACE, strip=1)
        for archive in spec.archives:
            if archive.writable:
                sandbox.unpack([archive.path.read_bytes()], archive.destination)

    def _image_workspace(self, client: APIClient, container: str, image: str) -> list[bytes]:
        """A tar of what the image has in the workspace, which the sandbox's own one will hide."""
        from docker.errors import NotFound

        if image in self._bare_workspaces:
            return []
        try:
            chunks, _ = client.get_archive(container, WORKSPACE)
        except NotFound:
            return []
        content = list(chunks)
        with tarfile.open(fileobj=io.BytesIO(b"".join(content))) as tar:
            if len(tar.getmembers()) > 1:
                return content
        self._bare_workspaces.add(image)
        return []

    def _client(self) -> APIClient:
        """A connected client. Raises SandboxUnavailableError when no engine answers."""
        if self._connected is None:
            self._connected = _connect()
            weakref.finalize(self, self._connected.close)
        return self._connected


def _connect() -> APIClient:
    import docker
    from docker.errors import DockerException
    from docker.utils import kwargs_from_env
    from requests.exceptions import RequestException

    try:
        settings: dict[str, Any] = {**kwargs_from_env()}
        if "base_url" not in settings and (context := docker.ContextAPI.get_current_context()):
            settings |= {"base_url": context.Host, "tls": context.TLSConfig or False}
        _knock(settings.get("base_url") or "unix:///var/run/docker.sock")
        # Asking for the version is the first request: an engine that hangs must not hang us.
        with contextlib.closing(docker.APIClient(timeout=_PING_SECONDS, **settings)) as client:
            version = client.version()["ApiVersion"]
        return docker.APIClient(timeout=CLIENT_SECONDS, version=version, **settings)
    except (DockerException, RequestException, OSError) as error:
        raise SandboxUnavailableError(
            f"no Docker engine answers ({_line(error)})", hint="Start Docker, or set DOCKER_HOST"
        ) from error


def _knock(url: str) -> None:
    """Raises OSError when nobody listens on the unix socket: the client would leak a socket then."""
    kind, _, path = url.partition("://")
    if kind in ("unix", "http+unix"):
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(path)
            except OSError as error:
                raise OSError(f"{path}: {error.strerror}") from error


def _configuration(client: APIClient, spec: SandboxSpec) -> dict[str, Any]:
    from docker.types import LogConfig

    limits = spec.limits
    size = f"size={limits.disk},nr_inodes={most_files(limits.disk)}"
    tmpfs = {
        place: f"rw,exec,nosuid,nodev,{size},mode={mode:o},uid={UID},gid={GID}"
        for place, mode in WRITABLE.items()
        if place != "/dev/shm"  # noqa: S108 - a path inside; Docker has a setting of its own for it
    }
    tmpfs |= dict.fromkeys(_COVERED, "ro,noexec,nosuid,nodev,size=4096,mode=555")
    host = client.create_host_config(
        network_mode="none",
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        tmpfs=tmpfs,
        shm_size=limits.disk,
        mem_limit=limits.memory,
        memswap_limit=limits.memory,
        nano_cpus=int(limits.cpus * 1e9),
        pids_limit=limits.processes,
        log_config=LogConfig(type=LogConfig.types.NONE),
    )
    return dict(
        client.create_container_config(
            spec.image,
            [*PYTHON, modules.command("pbtbench.sandbox.inner.reaper")],
            entrypoint=[],
            hostname=HOSTNAME,
            user=f"{UID}:{GID}",
            working_dir="/",
            labels={RUN_LABEL: spec.label, OWNER_LABEL: owner.identify()},
            host_config=host,
        )
    )


@cache
def _own_code() -> bytes:
    """A tar of our code that runs inside, to be unpacked at ``/``."""
    contents = {path: data for source in modules.INNER for path, data in modules.lay(source)}
    folders = {str(parent) for path in contents for parent in _parents(path)}
    return _tar(dict.fromkeys(sorted(folders)) | contents)


def _put_archive(client: APIClient, container: str, archive: Archive) -> None:
    """Unpack an archive into a container that does not run yet, as root's."""
    from docker.errors import NotFound

    folder = archive.destination
    with archive.path.open("rb") as tar:
        try:
            client.put_archive(container, folder, tar)
        except NotFound:
            tar.seek(0)
            client.put_archive(container, "/", _tar(dict.fromkeys([*_parents(folder), folder])))
            client.put_archive(container, folder, tar)


def _parents(path: str) -> Iterator[str]:
    """The folders above an absolute path below the first one, which every image has."""
    parts = path.strip("/").split("/")[:-1]
    for count in range(2, len(parts) + 1):
        yield "/" + "/".join(parts[:count])


def _tar(contents: Mapping[str, bytes | None]) -> bytes:
    """A tar of root's files, and folders (None)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path, data in contents.items():
            info = tarfile.TarInfo(path.lstrip("/"))
            info.mtime = _EPOCH
            if data is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(info)
            else:
                info.size, info.mode = len(data), 0o644
                tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def _line(error: Exception) -> str:
    return " ".join(str(getattr(error, "explanation", None) or error).split())
