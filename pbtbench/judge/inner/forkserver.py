"""Process 1 of the judge's warm sandbox: imports pytest and Hypothesis once, forks a session per tree.

It is trusted: it never imports a library or an answer. For each request it forks a process into fresh
mount, process, network and IPC namespaces, lays that one tree over site-packages, gives up every
privilege, and only then becomes the supervisor of the session. Sessions cannot see each other, the
fork server, or any tree but their own; what a session leaves behind vanishes with its namespaces.
"""

from __future__ import annotations

import importlib
import os
import resource
import signal
import socket
import sys
from typing import Any

from pbtbench.sandbox.inner import kernel, setup, wire

_NAMESPACES = os.CLONE_NEWNS | os.CLONE_NEWPID | os.CLONE_NEWNET | os.CLONE_NEWIPC


def main() -> int:
    """Serve the control socket whose descriptor number is the first argument, until it closes."""
    control_fd = int(sys.argv[1])
    os.closerange(3, control_fd)
    os.closerange(control_fd + 1, 65536)
    os.set_inheritable(control_fd, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The kernel reaps the holders of ended sessions; nothing here waits for them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    control = socket.socket(fileno=control_fd)
    try:
        settings, _ = wire.receive_message(control)
        from pbtbench.judge.inner.main import prepare_process, warm_up

        prepare_process()
        warm_up()
    except (EOFError, OSError):
        return 1
    except Exception as error:  # noqa: BLE001 -- whatever it is, the host must hear of it
        wire.send_message(control, {"error": f"{type(error).__name__}: {error}"})
        return 1
    kernel.forbid_tracing()
    wire.send_message(control, {"error": ""})
    while True:
        try:
            request, descriptors = wire.receive_message(control)
        except (EOFError, OSError):
            return 0
        if os.fork() == 0:
            status = 1
            try:
                control.close()
                _hold_session(settings, request, descriptors)
                status = 0
            finally:
                os._exit(status)
        for fd in descriptors:
            os.close(fd)


def _hold_session(settings: dict[str, Any], request: dict[str, Any], descriptors: list[int]) -> None:
    """Make the namespaces; the first process forked into them is process 1 of the session."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.unshare(_NAMESPACES)
    session = os.fork()
    if session:
        for fd in descriptors:
            os.close(fd)
        os.waitpid(session, 0)
        return
    channel, *archives = descriptors
    try:
        _set_up(settings, request, archives)
    except OSError as error:
        with socket.socket(fileno=channel) as sock:
            wire.send_message(sock, {"error": str(error)})
        os._exit(1)
    from pbtbench.judge.inner.main import session_config
    from pbtbench.judge.inner.supervisor import Supervisor

    # site-packages has the library now, and the same time stamp as before.
    importlib.invalidate_caches()
    config = session_config(request["top_levels"])
    Supervisor((channel, channel), config, watch=_watcher(settings)).serve()
    os._exit(0)


def _set_up(settings: dict[str, Any], request: dict[str, Any], archives: list[int]) -> None:
    kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    setup.mount_writable(settings["writable"], settings["disk"])
    for fd, destination in zip(archives, request["destinations"], strict=True):
        setup.unpack_read_only(fd, destination)
        os.close(fd)
    for name, value in settings["rlimits"].items():
        resource.setrlimit(getattr(resource, name), (value, value))
    kernel.become_user(settings["uid"], settings["gid"])
    kernel.drop_privileges()


def _watcher(settings: dict[str, Any]) -> Any:
    from pbtbench.sandbox.inner.init import Ledger, Watcher

    watcher = Watcher(settings["memory"], settings["processes"], Ledger())
    return lambda: watcher.look({os.getpid()})
