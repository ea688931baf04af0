"""The work of a child process in the tests."""

from __future__ import annotations

import os
import signal
import time
from typing import Any


def work(request: dict[str, Any]) -> Any:
    """Do what the request names; the process's number where it names nothing."""
    kind = request.get("kind")
    if kind == "spin":
        while True:
            pass
    if kind == "burn":
        began = time.process_time()
        while time.process_time() < began + request["seconds"]:
            pass
    if kind == "sleep":
        time.sleep(600)
    if kind == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if kind == "exit":
        os._exit(0)
    if kind == "memory":
        return len(bytearray(1 << 40))
    if kind == "grow":
        grown = []
        while True:
            grown.append(bytearray(8 << 20))
    if kind == "flood":
        return "x" * request["size"]
    if kind == "print":
        print("no answer")
    if kind == "raise":
        raise KeyError("no such thing")
    return {"pid": os.getpid(), "size": len(request.get("text", ""))}
