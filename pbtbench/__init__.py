"""pbtbench measures how well AI agents do property-based testing.

An agent gets a real Python library with hidden semantic bugs and its documentation, and writes
``pbt_test.py``. A bug is found when a test function fails on the buggy library and passes once that
bug's patch is reversed. See ``docs/design.md`` for how the parts work together.
"""

__version__ = "0.1.0"
