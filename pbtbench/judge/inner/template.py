"""The template: a process that has imported the library and the test file, and forks on request.

It runs pytest itself (collection, fixtures and reports are pytest's own), and takes over where pytest
would run the collected items: instead it waits for requests of the supervisor, each naming an item
and a seed, and forks a case for it. The case is forked twice, so that it becomes the supervisor's
child and cannot be kept from it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from . import case, frames, hypothesis_setup
from .peeking import PeekDetector
from .reach import ReachRecorder

REQUEST_SIZE = 4096


def serve(requests: socket.socket, report: int, config: dict[str, Any]) -> None:
    """Collect, send the list of cases to ``report``, then fork cases until ``requests`` closes.

    ``config``: ``test_file``, ``ini``, ``site_packages``, ``top_levels``; ``direct``: run the first requested
    case in this very process instead, because it has threads, and a fork would not have them.
    """
    plugin = _TemplatePlugin(requests, report, config)
    arguments = [
        "-q",
        "-c",
        config["ini"],
        f"--rootdir={Path(config['test_file']).parent}",
        "--noconftest",
        "--capture=no",
        "--tb=native",
        "-p",
        "no:cacheprovider",
        "-p",
        "_hypothesis_pytestplugin",
        config["test_file"],
    ]
    code = pytest.main(arguments, plugins=[plugin, plugin.recorder])
    if not plugin.reported:
        plugin.report_collection(f"pytest ended with status {int(code)} while collecting")


class _TemplatePlugin:
    def __init__(self, requests: socket.socket, report: int, config: dict[str, Any]) -> None:
        self.requests = requests
        self.report = report
        self.config = config
        self.recorder = case.Recorder()
        self.reported = False
        self.errors: list[str] = []
        self.items: list[pytest.Item] = []
        self.counter = hypothesis_setup.ExampleCounter()
        self.counter.install()
        self.reach = ReachRecorder(config["site_packages"], config["top_levels"])
        self.peeking = PeekDetector(config["site_packages"], config["top_levels"], config["test_file"])
        self.peeking.install()
        self.peeking.reset()
        self.reach.start()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep why something could not be collected."""
        if report.failed:
            self.errors.append(str(report.longrepr))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Report the collected cases in file order."""
        self.items = list(session.items)
        # Also called while SystemExit or KeyboardInterrupt, raised by the file, ends the collection.
        ended = sys.exception()
        if ended is not None:
            self.errors.append(f"{type(ended).__name__}: {ended}")
        self.report_collection("\n".join(self.errors))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> bool:
        """Instead of running the items: serve requests."""
        while self._serve_one():
            pass
        return True

    def report_collection(self, error: str) -> None:
        """Tell the supervisor what there is to run, and what ran while importing."""
        self.reported = True
        self.peeking.pause()
        message = {
            "cases": [_describe(item) for item in self.items],
            "error": case.clip(error),
            "hooks": self._hooks(),
            "threads": len(os.listdir("/proc/self/task")),
            "reach": self.reach.stop(),
            "peeked": self.peeking.peeked,
        }
        data = memoryview(frames.encode(message))
        while data:
            data = data[os.write(self.report, data) :]
        os.close(self.report)

    def _hooks(self) -> list[str]:
        module = getattr(self.items[0], "module", None) if self.items else None
        return sorted(name for name in vars(module) if name.startswith("pytest_")) if module else []

    def _serve_one(self) -> bool:
        data, descriptors, _flags, _address = socket.recv_fds(self.requests, REQUEST_SIZE, 1)
        if not data:
            return False
        (request,) = frames.Decoder().feed(data)
        (pipe,) = descriptors
        if self.config.get("direct"):
            self._run_case(request, pipe)
        middle = os.fork()
        if middle == 0:
            # The case itself is the grandchild; it learns its own id before the supervisor does.
            child = os.fork()
            if child:
                with contextlib.suppress(OSError):
                    self.requests.send(frames.encode({"id": request["id"], "pid": child}))
                os._exit(0)
            self._run_case(request, pipe)
        os.close(pipe)
        os.waitpid(middle, 0)
        return True

    def _run_case(self, request: dict[str, Any], pipe: int) -> None:
        row: dict[str, Any] = {"status": "crashed", "message": "the case could not be started"}
        try:
            with contextlib.suppress(PermissionError):  # a direct case leads its session already
                os.setsid()
            self.requests.close()
            signal.set_wakeup_fd(-1)
            case.fresh_folders(request["scratch"])
            hypothesis_home = os.environ["HOME"] + "/.hypothesis"
            os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = hypothesis_home
            case.seed_everything(request["seed"])
            self.counter.reset()
            self.reach.start()
            self.peeking.reset()
            row = case.run_item(self.items[request["case"]], self.recorder)
            self.peeking.pause()
            row["reach"] = self.reach.stop()
            row["peeked"] = self.peeking.peeked
            row["spawned"] = self.peeking.spawned
            if self.counter.ran:
                row["examples"] = self.counter.examples
                row["discarded"] = self.counter.discarded
        except BaseException as error:  # noqa: BLE001 -- whatever it is, the supervisor must get a row
            row = {"status": "crashed", "message": f"{type(error).__name__}: {error}"[:1000]}
        finally:
            with contextlib.suppress(OSError):
                case.send_row(row, pipe)
            os._exit(0)


def _describe(item: pytest.Item) -> dict[str, Any]:
    node_id = item.nodeid.split("::", 1)[-1]
    callspec = getattr(item, "callspec", None)
    function = node_id
    if callspec is not None and node_id.endswith(f"[{callspec.id}]"):
        function = node_id[: -len(callspec.id) - 2]
    return {
        "case": node_id,
        "function": function,
        "line": (item.location[1] or 0) + 1,
        "property": _is_property_test(item),
    }


def _is_property_test(item: pytest.Item) -> bool:
    obj = getattr(item, "obj", None)
    return bool(
        getattr(obj, "is_hypothesis_test", False)
        or getattr(getattr(obj, "__func__", None), "is_hypothesis_test", False)
    )


def redirect_output() -> None:
    """Nothing that the answer prints goes anywhere: output decides nothing."""
    sink = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(sink, descriptor)
    os.close(sink)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
