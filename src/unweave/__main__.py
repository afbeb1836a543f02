"""``python -m unweave`` is the ``unweave`` command."""

from unweave.cli import main

if __name__ == "__main__":
    main()
