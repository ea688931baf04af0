"""Large pages are asked for where there are any, and nowhere else is anything changed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from qmd.index import large_pages

ROOT = Path(__file__).resolve().parents[3]
SHOW = """
from qmd.index import large_pages
print(large_pages.ask(), large_pages.ask())
text = open("/proc/self/smaps").read()
print("hg" in [flag for line in text.splitlines() if line.startswith("VmFlags:") for flag in line.split()])
"""


def test_the_heap_gets_large_pages_where_the_kernel_has_them() -> None:
    if not Path("/sys/kernel/mm/transparent_hugepage/enabled").exists():
        pytest.skip("a kernel without large pages")
    done = subprocess.run([sys.executable, "-c", SHOW], cwd=ROOT, capture_output=True, text=True, check=True)
    if done.stdout.startswith("False"):
        pytest.skip("no glibc, or a heap that is not to be had")
    assert done.stdout.split() == ["True", "True", "True"]


def test_another_system_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_pages, "_asked", False)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not large_pages.ask()


def test_a_c_library_without_mallopt_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import ctypes

    monkeypatch.setattr(large_pages, "_asked", False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
    assert not large_pages.ask()


def test_a_heap_that_is_nowhere_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> tuple[int, int]:
        raise ValueError

    def call(*_: int) -> int:
        return 1

    library = SimpleNamespace(mallopt=call, malloc=lambda *_: call(), free=lambda *_: call(), madvise=lambda *_: call())

    import ctypes

    monkeypatch.setattr(large_pages, "_asked", False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: library)
    monkeypatch.setattr(large_pages, "_heap", nowhere)
    assert not large_pages.ask()
