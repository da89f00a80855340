"""A started Docker container as a sandbox; every command is a ``docker exec`` of ``inner.remote``."""

from __future__ import annotations

import contextlib
import posixpath
import time
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate

from pbtbench.errors import AnswerError, InfraError, SandboxDiedError
from pbtbench.sandbox import modules
from pbtbench.sandbox.base import MIB, Channel, CommandResult, SandboxSpec
from pbtbench.sandbox.exec_stream import DockerChannel, ExecStream
from pbtbench.sandbox.inner import files, wire
from pbtbench.sandbox.layout import COPY_SECONDS, GRACE_SECONDS, environment, process_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from docker.api.client import APIClient

PYTHON = ("/opt/venv/bin/python", "-I", "-S", "-E", "-c")
_START_SECONDS = 60.0
_KILLED = 137


def translating[**P, T](
    method: Callable[Concatenate[DockerSandbox, P], T],
) -> Callable[Concatenate[DockerSandbox, P], T]:
    """Turn what the Docker client raises into SandboxDiedError with the reason."""

    @wraps(method)
    def translated(self: DockerSandbox, /, *args: P.args, **kwargs: P.kwargs) -> T:
        from docker.errors import DockerException
        from requests.exceptions import RequestException

        try:
            return method(self, *args, **kwargs)
        except (DockerException, RequestException, OSError, EOFError) as error:
            raise self.died(error) from error

    return translated


class DockerSandbox:
    """A started container."""

    def __init__(self, client: APIClient, container: str, name: str, spec: SandboxSpec) -> None:
        self._client = client
        self._container = container
        self._name = name
        self._spec = spec
        self._environment = environment(spec)
        self._closed = False

    @property
    def name(self) -> str:
        """The container's name."""
        return self._name

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        stdin: bytes = b"",
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> CommandResult:
        """Run a command to its end or to ``timeout`` seconds. Raises SandboxDiedError."""
        request = self._command("run", argv, cwd, env)
        return self._exchange(request, [stdin], timeout=timeout, output=self._spec.limits.output)

    @translating
    def open(
        self, argv: Sequence[str], *, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> Channel:
        """Start a command and talk to it over its stdin and stdout. Raises SandboxDiedError."""
        stream = self._execute()
        try:
            stream.send(wire.encode(self._command("open", argv, cwd, env)))
            pid = stream.message(_START_SECONDS)["pid"]
        except BaseException:
            stream.close()
            raise
        return DockerChannel(stream, lambda: self._end(pid))

    def put(self, path: str, data: bytes) -> None:
        """Write a regular file. Raises InfraError when it cannot be written (disk full, a folder there)."""
        path = posixpath.join(self._spec.workdir, path)
        request = {"op": "files", "argv": ["put", path]}
        result = self._exchange(request, [data], timeout=COPY_SECONDS, output=MIB)
        if result.exit_code != 0:
            reason = result.stderr.decode(errors="replace") or "not copied"
            raise InfraError(f"cannot write it: {reason}", where=path)

    def get(self, path: str, *, max_bytes: int) -> bytes:
        """Content of a regular file. Raises AnswerError for anything else, or larger than ``max_bytes``."""
        path = posixpath.join(self._spec.workdir, path)
        request = {"op": "files", "argv": ["get", path, str(max_bytes)]}
        result = self._exchange(request, [], timeout=COPY_SECONDS, output=2 * max_bytes + MIB)
        if result.exit_code == files.NOT_TAKEN:
            raise AnswerError(result.stderr.decode(errors="replace"), where=path)
        if result.exit_code != 0 or result.stdout_dropped:
            raise SandboxDiedError("the file could not be copied out", where=path)
        return result.stdout

    def unpack(self, tar: Iterable[bytes], destination: str, *, strip: int = 0) -> None:
        """Unpack a tar as files of the sandbox user, without the first ``strip`` parts of each name."""
        request = {"op": "unpack", "argv": [destination, str(strip)]}
        result = self._exchange(request, tar, timeout=COPY_SECONDS, output=MIB)
        if result.exit_code != 0:
            reason = result.stderr.decode(errors="replace") or "not unpacked"
            raise InfraError(f"cannot unpack into {destination}: {reason}", where=self.name)

    def alive(self) -> bool:
        """Whether the container runs."""
        return bool(self._state().get("Running"))

    def close(self) -> None:
        """Remove the container."""
        from docker.errors import DockerException
        from requests.exceptions import RequestException

        if not self._closed:
            with contextlib.suppress(DockerException, RequestException):
                self._client.remove_container(self._container, force=True, v=True)
                self._closed = True

    def died(self, error: Exception | None = None) -> SandboxDiedError:
        """Why the container does not answer, as far as Docker knows."""
        state = self._state()
        if state.get("OOMKilled"):
            reason = f"it used more than its {self._spec.limits.memory // MIB} MiB of memory"
        elif state.get("Running"):
            reason = f"a command could not be run: {error or 'no answer'}"
        elif state:
            reason = f"its container has ended with exit code {state.get('ExitCode')}"
        else:
            from docker.errors import NotFound

            reason = f"no word from Docker: {error}"
            if error is None or isinstance(error, NotFound):
                reason = "its container is gone"
        return SandboxDiedError(reason, where=self.name)

    def _state(self) -> dict[str, Any]:
        from docker.errors import DockerException
        from requests.exceptions import RequestException

        try:
            state: dict[str, Any] = self._client.inspect_container(self._container)["State"]
        except (DockerException, RequestException):
            return {}
        return state

    def _command(
        self, op: str, argv: Sequence[str], cwd: str | None, env: Mapping[str, str] | None
    ) -> dict[str, Any]:
        return {
            "op": op,
            "argv": list(argv),
            "cwd": cwd or self._spec.workdir,
            "env": {**self._environment, **(env or {})},
            "rlimits": process_limits(self._spec.limits),
        }

    def _end(self, pid: int) -> None:
        """Have the supervisor ``pid`` of an open command kill it."""
        from docker.errors import DockerException
        from requests.exceptions import RequestException

        with contextlib.suppress(DockerException, RequestException, OSError):
            stream = self._execute()
            stream.send(wire.encode({"op": "end", "pid": pid}))
            stream.hang_up(GRACE_SECONDS)
            stream.close()

    def _execute(self) -> ExecStream:
        command = [*PYTHON, modules.command("pbtbench.sandbox.inner.remote")]
        created = self._client.exec_create(self._container, command, stdin=True, workdir="/")
        return ExecStream(self._client.exec_start(created["Id"], socket=True))

    @translating
    def _exchange(
        self, request: Mapping[str, Any], stdin: Iterable[bytes], *, timeout: float, output: int
    ) -> CommandResult:
        started = time.monotonic()
        stdin = list(stdin)
        request = {**request, "stdin": sum(map(len, stdin)), "timeout": timeout, "output": output}
        with contextlib.closing(self._execute()) as stream:
            stream.limit(timeout + GRACE_SECONDS)
            stream.send(wire.encode(request))
            for part in stdin:
                stream.send(part)
            try:
                reply, stdout, stderr = stream.answer(timeout + GRACE_SECONDS)
            except TimeoutError:
                self._client.kill(self._container)
                raise SandboxDiedError(
                    "a command outlived its time limit; the sandbox was killed", where=self.name
                ) from None
            except EOFError:
                # Something inside has killed the supervisor of this command; the sandbox may go on.
                if not self.alive():
                    raise
                reply = {"exit_code": _KILLED, "limit": "", "stdout_dropped": 0, "stderr_dropped": 0}
                stdout, stderr = b"", stream.errors
        return CommandResult(
            exit_code=reply["exit_code"],
            stdout=stdout,
            stderr=stderr,
            seconds=time.monotonic() - started,
            timed_out=reply["exit_code"] is None,
            stdout_dropped=reply["stdout_dropped"],
            stderr_dropped=reply["stderr_dropped"],
            limit=reply["limit"],
        )
