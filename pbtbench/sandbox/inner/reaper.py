"""Process 1 of a Docker sandbox: waits for orphans and does nothing else.

The kernel lets nothing inside kill process 1 as long as it handles no signal, so the container
lives until the host removes it.
"""

from __future__ import annotations

import signal

from pbtbench.sandbox.inner import kernel, processes


def main() -> None:
    """Reap for ever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    kernel.forbid_tracing()
    while True:
        processes.reap()
        signal.sigwait([signal.SIGCHLD])
