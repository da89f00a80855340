"""``python -m pbtbench`` is the command ``pbtbench``."""

from pbtbench.cli import main

if __name__ == "__main__":
    main()
