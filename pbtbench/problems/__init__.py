"""Problems: libraries, bugs, patches and trees. Pure: no Docker, no network, no sandbox."""
