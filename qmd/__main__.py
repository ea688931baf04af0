"""``python -m qmd``."""

from qmd.app.main import entry

if __name__ == "__main__":
    entry()
