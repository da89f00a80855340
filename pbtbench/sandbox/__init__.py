"""Sandboxes: the protocol (``base``) and its two backends, ``docker`` and ``local``."""

from pbtbench.sandbox.base import (
    Archive,
    Channel,
    Check,
    CommandResult,
    Limits,
    Sandbox,
    SandboxBackend,
    SandboxSpec,
)

__all__ = [
    "Archive",
    "Channel",
    "Check",
    "CommandResult",
    "Limits",
    "Sandbox",
    "SandboxBackend",
    "SandboxSpec",
]
