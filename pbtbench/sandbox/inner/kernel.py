"""The Linux calls that Python lacks, each as one function that raises OSError with what was tried."""

from __future__ import annotations

import ctypes
import errno
import os
import stat

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_READ = 23
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _prctl(option: int, *arguments: int) -> int:
    words = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    return int(_libc.prctl(option, *words))


def mount(source: str, target: str, kind: str | None = None, flags: int = 0, data: str = "") -> None:
    """``mount(2)``; ``data`` is the comma-separated options of the file system."""
    _checked(
        _libc.mount(
            os.fsencode(source),
            os.fsencode(target),
            kind.encode() if kind else None,
            ctypes.c_ulong(flags),
            data.encode() if data else None,
        ),
        f"mount {target}",
    )


def bind(source: str, target: str, *, read_only: bool = False) -> None:
    """Show ``source`` (file or folder, with what is mounted below it) at ``target`` as well."""
    mount(source, target, flags=MS_BIND | MS_REC)
    if read_only:
        make_read_only(target)


def make_read_only(target: str) -> None:
    """Forbid writing through the mount at ``target`` (nosuid and nodev are set with it)."""
    flags = os.statvfs(target).f_flag  # ST_* and MS_* are the same bits
    if not flags & MS_RDONLY:
        kept = flags & MS_NOEXEC  # may be locked, then a remount without it is refused
        mount("none", target, flags=MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | kept)


def mount_tmpfs(target: str, *, size: int, mode: int, files: int) -> None:
    """An empty file system in memory that holds at most ``size`` bytes in at most ``files`` files."""
    options = f"size={size},nr_inodes={files},mode={mode:o}"
    mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, options)


def unmount(target: str, flags: int = MNT_DETACH) -> None:
    """``umount2(2)``."""
    _checked(_libc.umount2(os.fsencode(target), flags), f"umount {target}")


def private_mounts() -> None:
    """Give this process its own copy of the mount table, which nothing outside sees change."""
    _checked(_libc.unshare(CLONE_NEWNS), "unshare mounts")
    mount("none", "/", flags=MS_REC | MS_PRIVATE)


def become_user(uid: int, gid: int) -> None:
    """Continue as ``uid``:``gid`` in a new user namespace, in which no other one can be made.

    Every capability over the namespaces held so far (mounts, network) is lost. A user namespace of its
    own would let foreign code mount file systems without a size limit. ``/proc`` becomes read-only and
    what only root may read of it empty: to the kernel, the user of a sandbox that root has started
    *is* root, who needs no capability to change the settings of the host there. Call before
    ``forbid_tracing``.
    """
    outer_uid, outer_gid = os.geteuid(), os.getegid()
    writable = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        mount("/proc", "/proc", flags=MS_BIND)
        _hide_secrets_of("/proc")
        make_read_only("/proc")
        _checked(_libc.unshare(CLONE_NEWUSER), "unshare users")
        _write(writable, "self/setgroups", "deny")
        _write(writable, "self/uid_map", f"{uid} {outer_uid} 1")
        _write(writable, "self/gid_map", f"{gid} {outer_gid} 1")
        _write(writable, "sys/user/max_user_namespaces", "0")
    finally:
        os.close(writable)


def _hide_secrets_of(folder: str) -> None:
    for name in os.listdir(folder):
        path = f"{folder}/{name}"
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:
            continue  # a process that has ended
        if stat.S_ISREG(mode) and not mode & stat.S_IROTH:
            mount("/dev/null", path, flags=MS_BIND)


def _write(folder: int, path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def forbid_tracing() -> None:
    """No process of the same user can read or change this one's memory, descriptors or environment.

    Children have this too until they exec.
    """
    _checked(_prctl(_PR_SET_DUMPABLE, 0), "prctl dumpable")


def adopt_orphans() -> None:
    """Descendants whose parent dies become children of this process."""
    _checked(_prctl(_PR_SET_CHILD_SUBREAPER, 1), "prctl subreaper")


def die_with_parent(signal_number: int) -> None:
    """Get this signal when the parent thread ends."""
    _checked(_prctl(_PR_SET_PDEATHSIG, signal_number), "prctl pdeathsig")


class _Instruction(ctypes.Structure):
    """One instruction of a classic BPF program."""

    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("operand", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


_LOAD_WORD, _JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.ENOSYS
_OFFSET_OF_NUMBER, _OFFSET_OF_ARCHITECTURE = 0, 4
_X32 = 0x40000000
_UNCOUNTED = {
    # architecture: (its number in a filter, numbers of shmget, memfd_create, memfd_secret,
    # io_uring_setup, userfaultfd, bpf, perf_event_open, add_key, request_key, keyctl)
    "x86_64": (0xC000003E, (29, 319, 447, 425, 323, 321, 298, 248, 249, 250)),
    "aarch64": (0xC00000B7, (194, 279, 447, 425, 282, 280, 241, 217, 218, 219)),
}


def refuse_system_calls() -> None:
    """Make some system calls fail as if this kernel did not have them; needs no_new_privs.

    They hold memory that belongs to no process and no file system, so no limit of a sandbox
    would count it, or are of use to attackers only. On an unknown architecture nothing is refused.
    """
    if os.uname().machine not in _UNCOUNTED:
        return
    architecture, numbers = _UNCOUNTED[os.uname().machine]
    count = len(numbers)
    lines = [
        (_LOAD_WORD, 0, 0, _OFFSET_OF_ARCHITECTURE),
        (_JUMP_IF_EQUAL, 0, count + 3, architecture),
        (_LOAD_WORD, 0, 0, _OFFSET_OF_NUMBER),
        (_JUMP_IF_AT_LEAST, count + 1, 0, _X32),
        *((_JUMP_IF_EQUAL, count - index, 0, number) for index, number in enumerate(numbers)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    instructions = (_Instruction * len(lines))(*(_Instruction(*line) for line in lines))
    program = _Program(len(lines), instructions)
    _checked(_prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program)), "prctl seccomp")


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _CapabilityData(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def drop_privileges() -> None:
    """Give up every capability for good, for this process and all it starts, and some system calls.

    Bounding, ambient, permitted, effective and inheritable sets are empty afterwards, and no exec
    can bring anything back (no_new_privs). Needs CAP_SETPCAP unless the bounding set is empty;
    ``become_user`` gives it.
    """
    capability = 0
    while (held := _prctl(_PR_CAPBSET_READ, capability)) >= 0:
        if held:
            _checked(_prctl(_PR_CAPBSET_DROP, capability), f"drop capability {capability}")
        capability += 1
    _checked(_prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL), "clear ambient capabilities")
    header = _CapabilityHeader(_CAPABILITY_VERSION_3, 0)
    nothing = (_CapabilityData * 2)()
    _checked(_libc.capset(ctypes.byref(header), nothing), "capset")
    _checked(_prctl(_PR_SET_NO_NEW_PRIVS, 1), "prctl no_new_privs")
    refuse_system_calls()
