"""The few things that building needs of the Docker engine, with errors in pbtbench's terms."""

from __future__ import annotations

import io
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pbtbench.errors import BuildError, DiskFullError, PbtbenchError, SandboxUnavailableError
from pbtbench.sandbox import owner
from pbtbench.sandbox.docker import OWNER_LABEL

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

OWNER = "pbtbench"
"""Repository prefix of all images, and the label that all images and containers carry."""

STAGE = "/stage"
"""Where ``Engine.run`` copies the host's folder to."""

_ENGINE_TIMEOUT = 600
_TAIL = 5


class Engine:
    """A connection to the Docker engine, made when it is first used."""

    def __init__(self) -> None:
        self._client: DockerClient | None = None

    @property
    def client(self) -> DockerClient:
        """Raises SandboxUnavailableError when no engine answers."""
        if self._client is None:
            import docker
            from docker.errors import DockerException

            try:
                self._client = docker.from_env(timeout=_ENGINE_TIMEOUT)
                self._client.ping()
            except DockerException as error:
                raise SandboxUnavailableError(
                    f"the Docker engine does not answer: {_first_line(error)}",
                    hint="Start it, or use --sandbox local",
                ) from error
        return self._client

    def image_id(self, tag: str) -> str | None:
        """The id of a local image, None when there is none with this tag."""
        from docker.errors import ImageNotFound

        with _translated(tag):
            try:
                return str(self.client.images.get(tag).id)
            except ImageNotFound:
                return None

    def pull(self, tag: str) -> bool:
        """Fetch an image from its registry; False when that is not possible."""
        from docker.errors import APIError
        from docker.utils import parse_repository_tag

        repository, name = parse_repository_tag(tag)
        try:
            self.client.images.pull(repository, name or "latest")
        except APIError:
            return False
        return True

    def build(
        self,
        tag: str,
        dockerfile: Path,
        files: Mapping[str, Path],
        arguments: Mapping[str, str],
        labels: Mapping[str, str],
    ) -> None:
        """Build an image without network from a context that holds just ``files``.

        Raises BuildError with the last lines of the build, DiskFullError.
        """
        with tempfile.TemporaryFile() as context:
            with tarfile.open(fileobj=context, mode="w") as tar:
                for name, path in {"Dockerfile": dockerfile, **files}.items():
                    tar.add(path, name)
            context.seek(0)
            with _translated(tag):
                self.client.images.build(
                    fileobj=context,
                    custom_context=True,
                    tag=tag,
                    buildargs=dict(arguments),
                    labels={OWNER: "image", **labels},
                    network_mode="none",
                    rm=True,
                    forcerm=True,
                )

    def import_root(self, tar: Path, repository: str, tag: str, changes: Sequence[str]) -> None:
        """Make an image of a root file system."""
        with _translated(f"{repository}:{tag}"):
            self.client.api.import_image_from_file(str(tar), repository, tag, changes=list(changes))

    def tag(self, source: str, repository: str, tag: str) -> None:
        """Give an image another name."""
        with _translated(source):
            self.client.images.get(source).tag(repository, tag)

    def run(self, image: str, command: Sequence[str], folder: Path | None = None) -> str:
        """Output of a command in a throw-away container without network.

        The host's ``folder`` is copied to STAGE before, and back afterwards.
        Raises BuildError when the command fails.
        """
        with _translated(image):
            container = self.client.containers.create(
                image,
                list(command),
                entrypoint="",
                user="0",
                working_dir="/",
                network_mode="none",
                labels=_labels(),
            )
            try:
                if folder is not None:
                    container.put_archive("/", _packed(folder))
                container.start()
                status = container.wait()["StatusCode"]
                if status:
                    raise BuildError(f"{command[0]} failed: {_last_lines(container.logs())}", where=image)
                if folder is not None:
                    _unpack(container, folder)
                return container.logs(stdout=True, stderr=False).decode()
            finally:
                container.remove(force=True)

    def files(self, image: str) -> Iterator[tuple[str, bytes]]:
        """(absolute path, content) of every regular file in an image."""
        with _translated(image), tempfile.TemporaryFile() as exported:
            container = self.client.containers.create(image, ["/"], network_mode="none", labels=_labels())
            try:
                blocks: Iterable[bytes] = cast("Iterable[bytes]", container.export())  # types-docker says str
                exported.writelines(blocks)
            finally:
                container.remove(force=True)
            exported.seek(0)
            with tarfile.open(fileobj=exported) as tar:
                for member in tar:
                    if member.isfile() and (file := tar.extractfile(member)):
                        yield f"/{member.name}", file.read()


def _labels() -> dict[str, str]:
    """Labels of a throw-away container: when this process dies, the Docker backend's sweep removes it."""
    return {OWNER: "build", OWNER_LABEL: owner.identify()}


def _packed(folder: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.add(folder, STAGE.strip("/"))
    return buffer.getvalue()


def _unpack(container: Container, folder: Path) -> None:
    blocks, _ = container.get_archive(STAGE)
    with tarfile.open(fileobj=io.BytesIO(b"".join(blocks))) as tar:
        for member in tar:
            # Members lie below the last component of STAGE; the filter refuses what would leave the folder.
            inside = member.name.partition("/")[2]
            if inside and (member.isfile() or member.isdir()):
                tar.extract(member.replace(name=inside, deep=False), folder, filter="data")


@contextmanager
def _translated(what: str) -> Iterator[None]:
    """Turn errors of the engine into BuildError or DiskFullError about ``what``."""
    from docker import errors
    from requests.exceptions import RequestException

    try:
        yield
    except PbtbenchError:
        raise
    except errors.BuildError as error:
        log = "".join(entry.get("stream", "") or entry.get("error", "") for entry in _entries(error))
        raise _error(
            what, f"{error.msg}\n{log}", f"the build failed: {_last_lines(log) or error.msg}"
        ) from error
    except (errors.DockerException, RequestException) as error:
        raise _error(what, str(error), f"the Docker engine refused: {_first_line(error)}") from error


def _entries(error: Any) -> list[dict[str, str]]:
    return [entry for entry in error.build_log if isinstance(entry, dict)]


def _error(what: str, text: str, message: str) -> PbtbenchError:
    if "no space left on device" in text.lower():
        return DiskFullError(
            "no space left where the Docker engine keeps its images",
            where=what,
            hint="Free some space there, or run `pbtbench clean`",
        )
    return BuildError(message, where=what)


def _last_lines(log: str | bytes) -> str:
    text = log.decode(errors="replace") if isinstance(log, bytes) else log
    return " | ".join(line.strip() for line in text.strip().splitlines()[-_TAIL:])


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
