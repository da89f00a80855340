"""Programs of the built-in agents that run inside the sandbox (standard library and hypothesis only)."""
