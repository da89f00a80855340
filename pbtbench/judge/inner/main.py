"""Entry point inside a sandbox: warm up, then supervise one tree over stdin and stdout."""

from __future__ import annotations

import os
import sys
import sysconfig
from typing import Any

TEST_FILE = "/workspace/pbt_test.py"


def warm_up() -> None:
    """Load everything that every session needs and that is not the library or the answer."""
    import pytest  # noqa: F401

    from . import hypothesis_setup, template  # noqa: F401

    hypothesis_setup.load_profile()
    hypothesis_setup.restrict_settings()
    hypothesis_setup.warm_up()


def session_config(top_levels: list[str]) -> dict[str, Any]:
    """What supervisor and template need to know; the same for every tree of a problem."""
    return {
        "test_file": TEST_FILE,
        "ini": os.path.join(os.path.dirname(__file__), "pytest.ini"),
        "site_packages": sysconfig.get_path("purelib"),
        "top_levels": top_levels,
    }


def prepare_process() -> None:
    """Leave nothing of ours where foreign code would meet it by accident."""
    sys.path[:] = [entry for entry in sys.path if not __file__.startswith(entry + "/")]
    sys.argv = ["pytest"]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"


def main() -> None:
    """``python -c '…main()' TOP_LEVEL…``: the library's own entries in site-packages."""
    config = session_config(sys.argv[1:])
    prepare_process()
    reader, writer = os.dup(0), os.dup(1)
    sink = os.open(os.devnull, os.O_RDWR)
    os.dup2(sink, 0)
    os.dup2(sink, 1)

    from .supervisor import Supervisor

    warm_up()
    Supervisor((reader, writer), config).serve()
