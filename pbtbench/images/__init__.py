"""Images: what a sandbox starts from. Download, install, inject bugs, scan for leaks, build."""
