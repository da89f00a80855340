"""Problems: libraries, bugs, patches and trees. Pure: no Docker, no network, no sandbox.

``load`` finds, selects and reads problems; ``model`` says what they are; ``trees`` builds the states
of a library that verdicts compare; ``reach`` tells which code a bug touches. Behind them: ``diff``
and ``patch`` (exact patches), ``document`` (YAML with line numbers), ``vocabulary`` (tags, canary).
"""
