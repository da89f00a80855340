"""What an answer gains by cheating, crashing and greed: nothing confirmed, and nobody else's verdict."""

from __future__ import annotations

import pytest

from pbtbench.problems.tree import BUGGY, CLEAN
from pbtbench.score.rules import decide

from .conftest import Judge
from .test_outcomes import confirmed, found, statuses

pytestmark = [pytest.mark.local_sandbox, pytest.mark.network]

HONEST = """
import toybox
def test_honest():
    assert toybox.clamp(9, 0, 5) == 5
"""

IN_ONE_CASE = {
    "exits early": "import os; os._exit(0)",
    "exits with failure": "import os; os._exit(1)",
    "raises SystemExit": "raise SystemExit",
    "ends pytest": "import pytest; pytest.exit('bye', returncode=0)",
    "interrupts": "raise KeyboardInterrupt",
    "segfaults": "import ctypes; ctypes.string_at(0)",
    "recurses": "def f(): f()\n    f()",
    "recurses without limit": "import sys; sys.setrecursionlimit(10**9)\n    def f(): f()\n    f()",
    "kills itself": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "kills its group": "import os, signal; os.killpg(0, signal.SIGKILL)",
    "aborts": "import os; os.abort()",
    "eats memory": "x = []\n    while True: x.append(bytearray(10**7))",
    "fills the disk": "import os\n    for i in range(10**6): open(f'/tmp/{i}', 'wb').write(bytes(10**6))",
    "prints megabytes": "for _ in range(300): print('x' * 10**6)\n    assert 0",
    "writes to every descriptor": (
        'import os\n    for fd in range(3, 256):\n        try: os.write(fd, b\'{"status": "passed"}\' * 9)\n'
        "        except OSError: pass\n    assert 0"
    ),
    "closes every descriptor": "import os; os.closerange(0, 256); assert 0",
    "blocks signals": "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)); assert 0",
    "leaves a daemon": (
        "import subprocess\n"
        "    subprocess.Popen(['/bin/sh', '-c', 'trap \"\" TERM; sleep 1000'], start_new_session=True)\n"
        "    assert 0"
    ),
    "leaves threads": (
        "import threading, time\n    threading.Thread(target=time.sleep, args=(1000,)).start()\n    assert 0"
    ),
    "forks without end": "import os\n    while True: os.fork()",
    "breaks the working folder": "import os, shutil; shutil.rmtree(os.getcwd()); assert 0",
    "clears sys.path and modules": "import sys; sys.path.clear(); sys.modules.clear(); assert 0",
    "changes the locale": "import locale; locale.setlocale(locale.LC_ALL, 'C'); assert 0",
}


@pytest.mark.parametrize("body", IN_ONE_CASE.values(), ids=IN_ONE_CASE)
def test_whatever_one_case_does_it_finds_nothing_and_harms_no_other(judge: Judge, body: str) -> None:
    judgement = judge(f"{HONEST}\ndef test_bad():\n    {body}\n", limit=6.0)
    assert found(judgement) == confirmed(judgement) == {"bug_1"}
    assert decide(judgement).rules["f2p"]["bug_1"].by == ("test_honest",)
    for tree in (BUGGY, CLEAN):
        assert statuses(judgement, tree)["test_bad"] not in {"passed", "skipped", "xfailed"}


AT_IMPORT = {
    "patches pytest's reports": (
        "import _pytest.reports\n"
        "_pytest.reports.TestReport.from_item_and_call = classmethod(lambda *a: 1/0)\n"
    ),
    "registers a plugin that fails everything": (
        "import gc\n"
        "from _pytest.config import Config\n"
        "class Plugin:\n"
        "    def pytest_runtest_call(self, item): raise AssertionError\n"
        "for c in gc.get_objects():\n"
        "    if isinstance(c, Config): c.pluginmanager.register(Plugin())\n"
    ),
    "makes every comparison fail": "import toybox\ntoybox.clamp = lambda *a: None\n",
    "says failed for everything": (
        "import json, os, sys\n"
        "case = next(m for n, m in list(sys.modules.items()) if n.endswith('inner.case'))\n"
        'case.send_row = lambda row, pipe: os.write(pipe, b\'{"status": "failed", "reach": []}\')\n'
    ),
    "says passed for everything": (
        "import json, os, sys\n"
        "case = next(m for n, m in list(sys.modules.items()) if n.endswith('inner.case'))\n"
        'case.send_row = lambda row, pipe: os.write(pipe, b\'{"status": "passed", "reach": []}\')\n'
    ),
    "sends garbage": (
        "import os, sys\n"
        "case = next(m for n, m in list(sys.modules.items()) if n.endswith('inner.case'))\n"
        "case.send_row = lambda row, pipe: os.write(pipe, b'\\xff' * 5000)\n"
    ),
    "kills its parent": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n",
    "kills everything": "import os, signal\nos.kill(-1, signal.SIGKILL)\n",
    "stops its parent": "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\n",
}


@pytest.mark.parametrize("prelude", AT_IMPORT.values(), ids=AT_IMPORT)
def test_what_is_the_same_on_every_tree_credits_no_bug_it_did_not_find(judge: Judge, prelude: str) -> None:
    judgement = judge(prelude + HONEST, limit=6.0)
    assert found(judgement) <= {"bug_1"}


def test_the_supervisor_cannot_be_traced_read_or_signalled(judge: Judge) -> None:
    answer = (
        HONEST
        + """
import ctypes, os, signal
def test_memory():
    for name in ("mem", "environ", "fd/0"):
        try: open(f"/proc/1/{name}", "rb").read(1)
        except OSError: continue
        raise AssertionError(name)
def test_descriptors():
    for fd in range(64):
        for use in (os.readlink, lambda path: os.open(path, os.O_WRONLY)):
            try: use(f"/proc/1/fd/{fd}")
            except OSError: continue
            raise AssertionError(fd)
def test_trace():
    assert ctypes.CDLL(None, use_errno=True).ptrace(16, 1, 0, 0) == -1
def test_signal():
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT): os.kill(1, number)
    import time; time.sleep(0.2); os.kill(1, 0)
def test_no_capabilities():
    status = open("/proc/self/status").read()
    assert "CapEff:\\t0000000000000000" in status and "CapBnd:\\t0000000000000000" in status
    assert "NoNewPrivs:\\t1" in status
"""
    )
    judgement = judge(answer)
    assert set(statuses(judgement).values()) == {"passed"}


def test_nothing_inside_tells_which_tree_it_is(judge: Judge) -> None:
    """Everything about the sandbox that is not the content of the library is the same on all trees."""
    answer = """
import os, toybox
def describe():
    site = os.path.dirname(os.path.dirname(toybox.__file__))
    seen = [sorted(os.environ.items()), os.getcwd(), os.uname(), os.getuid(), os.listdir("/workspace")]
    for root, folders, files in os.walk(site):
        folders.sort()
        for name in sorted(folders + files):
            s = os.lstat(os.path.join(root, name))
            size = 0 if "toybox/" in os.path.join(root, name) else s.st_size
            seen.append((root, name, s.st_mode, s.st_uid, s.st_gid))
            seen.append((s.st_mtime_ns, s.st_nlink, s.st_ino, size))
    seen.append([line.split()[3:6] for line in open("/proc/self/mountinfo")])
    seen.append(open("/proc/self/cgroup").read().count("\\n"))
    for name in ("/opt", "/run", "/tmp", "/dev/shm", "/usr/local/lib"):
        seen.append(sorted(os.listdir(name)))
    return repr(seen)
def test_show():
    raise AssertionError(describe())
"""
    judgement = judge(answer, full=True)
    messages = {row.message.split("\n")[0] for row in judgement.outcomes}
    assert len(messages) == 1, sorted(messages)


def test_earlier_and_later_tests_leave_no_trace_that_differs_between_trees(judge: Judge) -> None:
    """Failing where one is not alone tells the screening run from the deciding one, and gains nothing."""
    answer = (
        HONEST
        + """
import os
def test_marker():
    open("/tmp/marker", "w").close()
def test_fails_after_others():
    toybox.total([1])
    assert not os.path.exists("/tmp/marker") and os.getpid() < 20
def test_counts():
    toybox.total([1])
    with open("/tmp/count", "a") as f: f.write("x")
    assert os.path.getsize("/tmp/count") % 2
"""
    )
    judgement = judge(answer, seeds=(0, 1, 2))
    assert confirmed(judgement) == {"bug_1"}


def test_coins_are_not_confirmed(judge: Judge) -> None:
    coins = "\n".join(
        f"def test_coin_{n}():\n    toybox.total([1])\n    assert os.urandom(1)[0] % 2\n" for n in range(10)
    )
    judgement = judge(f"import os, toybox\n{coins}", seeds=(0, 1, 2))
    assert confirmed(judgement) == set()
    assert decide(judgement).unstable


READERS = {
    "the file": "open(toybox.__file__).read()",
    "through inspect": "inspect.getsource(toybox.clamp)",
    "through pathlib": "pathlib.Path(toybox.__file__).read_bytes()",
    "through the loader": "toybox.__loader__.get_data(toybox.__file__)",
    "the compiled file": "open(toybox.__cached__, 'rb').read()",
    "bytecode": "toybox.clamp.__code__.co_code",
    "disassembly": "dis.Bytecode(toybox.clamp).dis()",
    "the folder": "os.listdir(os.path.dirname(toybox.__file__))",
}


@pytest.mark.parametrize("expression", READERS.values(), ids=READERS)
def test_a_test_that_reads_the_library_is_never_confirmed(judge: Judge, expression: str) -> None:
    judgement = judge(
        f"import dis, inspect, os, pathlib, toybox\ndef test_reads():\n    {expression}\n"
        "    assert toybox.clamp(9, 0, 5) == 5\n"
    )
    rows = [row for row in judgement.outcomes if row.case == "test_reads"]
    assert all(row.read_source for row in rows)
    assert found(judgement) == {"bug_1"}
    assert confirmed(judgement) == set()


def test_reports_and_imports_are_no_reading(judge: Judge) -> None:
    judgement = judge(
        "import importlib, toybox\nfrom toybox.part import deep\n"
        "from hypothesis import given, strategies as st\n"
        "@given(st.builds(toybox.Stack), st.integers(6, 9))\ndef test_builds(stack, n):\n"
        "    importlib.reload(toybox)\n    assert toybox.clamp(n, 0, 5) == 5\n"
    )
    assert not any(row.read_source for row in judgement.outcomes)
    assert confirmed(judgement) == {"bug_1"}


def test_other_trees_and_patches_cannot_be_found(judge: Judge) -> None:
    answer = """
import os
def test_search():
    hits = []
    for root, folders, files in os.walk("/"):
        if root.startswith(("/proc", "/sys", "/usr")): folders[:] = []; continue
        hits += [os.path.join(root, f) for f in files if f.endswith((".patch", ".orig", ".whl", ".tar.gz"))]
        hits += [os.path.join(root, f) for f in folders if f == "toybox" and "/site-packages" not in root]
    assert not hits, hits
"""
    judgement = judge(answer)
    assert statuses(judgement) == {"test_search": "passed"}


def test_one_answer_sees_nothing_of_another(judge: Judge) -> None:
    write = "import os, toybox\ndef test_x():\n    toybox.clamp(1, 0, 2)\n"
    judge(write + "    [open(f'{d}/x', 'w').close() for d in ('/tmp', '/dev/shm', '/workspace')]\n")
    judgement = judge(
        write + "    assert not any(os.path.exists(f'{d}/x') for d in ('/tmp', '/dev/shm', '/workspace'))\n"
    )
    assert statuses(judgement) == {"test_x": "passed"}
