"""The warm sandbox of the local backend: one fork server per library image, one session per tree.

Importing pytest and Hypothesis takes longer than most trees' tests. Here that happens once, in a process that
never meets foreign code; each session gets namespaces and a tree of its own (see
``inner.forkserver``), so it is as isolated as a sandbox that was started for it.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Mapping
from pathlib import Path

from packaging.utils import canonicalize_name

from pbtbench.errors import InfraError, SandboxDiedError
from pbtbench.images.base import ENVIRONMENT, PreparedProblem
from pbtbench.images.recipes import toolchain
from pbtbench.judge.opener import top_levels
from pbtbench.judge.session import TreeSession
from pbtbench.sandbox import bwrap
from pbtbench.sandbox.base import PYTHON, SITE_PACKAGES, Limits
from pbtbench.sandbox.inner import wire
from pbtbench.sandbox.local import session_settings

_INNER = Path(__file__).parent / "inner"
_SANDBOX_INNER = Path(bwrap.__file__).parent / "inner"
_START_LIMIT = 120.0
"""Seconds until pytest and Hypothesis must be imported, also on a machine under load."""


class SocketChannel:
    """A connected socket as a ``Channel``."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def send(self, data: bytes) -> None:
        """See ``Channel``."""
        try:
            self._sock.sendall(data)
        except OSError as error:
            raise SandboxDiedError(f"the session is gone: {error}") from error

    def receive(self, timeout: float | None) -> bytes:
        """See ``Channel``."""
        if timeout is not None and not select.select([self._sock], [], [], timeout)[0]:
            raise TimeoutError
        try:
            return self._sock.recv(1 << 16)
        except OSError as error:
            raise SandboxDiedError(f"the session is gone: {error}") from error

    def fileno(self) -> int:
        """See ``Channel``."""
        return self._sock.fileno()

    def close(self) -> None:
        """See ``Channel``: the supervisor ends when its channel does, and its namespaces with it."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()


class ForkServer:
    """A started fork server for one local library image. Threads may open sessions at once."""

    def __init__(self, image: Path, limits: Limits) -> None:
        """Raises SandboxUnavailableError, or InfraError when pytest cannot be imported in the image."""
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair()
        try:
            self._process = bwrap.spawn_bwrap(
                bwrap.LocalImage.load(image),
                module="pbtbench.judge.inner.forkserver",
                sources=[
                    *sorted(_SANDBOX_INNER.glob("*.py")),
                    *sorted(_INNER.glob("*.py")),
                    _INNER / "pytest.ini",
                ],
                arguments=[str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                python=[PYTHON, "-P", "-s"],
                environment=ENVIRONMENT,
            )
        finally:
            theirs.close()
        self._tell(session_settings(limits))

    def open(self, archive: Path, site_packages: str, names: list[str]) -> TreeSession:
        """A session on the tree in ``archive``, over ``site_packages``; ``names``: its entries there."""
        ours, theirs = socket.socketpair()
        with theirs, archive.open("rb") as tar:
            request = {"top_levels": names, "destinations": [site_packages]}
            try:
                with self._lock:
                    wire.send_message(self._control, request, [theirs.fileno(), tar.fileno()])
            except OSError as error:
                ours.close()
                raise InfraError(f"the judge's fork server is gone: {self._process.complaint()}") from error
        return TreeSession(SocketChannel(ours), on_close=lambda: None)

    def alive(self) -> bool:
        """Whether sessions can still be opened."""
        return self._process.alive()

    def close(self) -> None:
        """End the server and every session. Never raises."""
        self._control.close()
        self._process.close()

    def _tell(self, settings: Mapping[str, object]) -> None:
        try:
            wire.send_message(self._control, settings)
            self._control.settimeout(_START_LIMIT)
            reply, _ = wire.receive_message(self._control)
            self._control.settimeout(None)
        except (OSError, EOFError) as error:
            complaint = self._process.complaint()
            self.close()
            raise InfraError(f"the judge's fork server did not start: {complaint or error}") from error
        if reply["error"]:
            self.close()
            raise InfraError(f"the judge's fork server did not start: {reply['error']}")


class ForkServers:
    """Fork servers by image, started when first needed and shared by everything that judges."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._servers: dict[tuple[str, Limits], ForkServer] = {}

    @staticmethod
    def can_serve(prepared: PreparedProblem) -> bool:
        """Whether pytest and Hypothesis can be imported without the library.

        They cannot where the library is one of those that they are made of: then every tree must import
        them for itself, on top of the library as it is there.
        """
        tools = {canonicalize_name(line.split("==")[0]) for line in toolchain()}
        return canonicalize_name(prepared.problem.library.name) not in tools

    def get(self, image: str, limits: Limits) -> ForkServer:
        """The running server for ``image``; one that died is replaced."""
        with self._lock:
            server = self._servers.get((image, limits))
            if server is None or not server.alive():
                server = self._servers[image, limits] = ForkServer(Path(image), limits)
            return server

    def close(self) -> None:
        """End all servers."""
        with self._lock:
            servers, self._servers = list(self._servers.values()), {}
        for server in servers:
            server.close()


class ForkServerOpener:
    """Opens sessions on the trees of one problem through a shared fork server."""

    def __init__(self, prepared: PreparedProblem, servers: ForkServers, limits: Limits) -> None:
        self._prepared = prepared
        self._servers = servers
        self._limits = limits
        self._names = top_levels(prepared)

    def open(self, tree: str) -> TreeSession:
        """A session on ``tree``. Raises SandboxUnavailableError or InfraError."""
        image = self._prepared.library_image
        server = self._servers.get(image.reference, self._limits)
        site_packages = SITE_PACKAGES.format(minor=image.python)
        return server.open(self._prepared.archives[tree], site_packages, self._names)
