"""Ctrl-C and SIGTERM: the update in hand is finished and the state saved; a second Ctrl-C does not wait.

>>> with Interrupt() as interrupt:
...     os.kill(os.getpid(), signal.SIGTERM)
...     interrupt.asked
True
"""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Interrupt:
    """Notes that somebody asked to stop. Outside the main thread it hears nothing, as Python gives signals to that alone."""

    def __init__(self) -> None:
        self.asked = False
        self._owner = os.getpid()
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._owner:
            return  # a data worker, which a terminal's Ctrl-C reaches too: it must live until the update is finished
        if self.asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked = True
