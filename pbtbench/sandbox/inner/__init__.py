"""What runs inside a sandbox. Standard library only: it meets whatever Python the image has,
and few modules of it, for their import is most of what a start costs (hence the guards of ``typing``).

``kernel`` wraps the system calls, ``wire`` carries messages and descriptors, ``setup`` assembles the
writable places and unpacks archives, ``processes`` knows who started whom and kills it, ``files``
gets and puts, and ``init`` (local) or ``supervise`` and ``reaper`` (Docker) put them together.
"""
