"""What a training shows: a bar with time left, loss and speed on a terminal; plain lines now and then elsewhere.

>>> import rich.console
>>> with Progress(rich.console.Console(width=100), shown=True) as progress:
...     progress.say("step 1")
step 1
"""

from __future__ import annotations

import time
from collections import deque
from types import TracebackType

import rich.console
import rich.progress

PAUSE = 10.0  # seconds between plain lines
LATELY = 300.0  # seconds that the pace is taken from


class Progress:
    """Shows nothing in processes other than the first (`shown=False`)."""

    def __init__(self, console: rich.console.Console | None, *, shown: bool) -> None:
        self.console = console or rich.console.Console(stderr=True)
        self.shown = shown
        self._bar: rich.progress.Progress | None = None
        self._task: rich.progress.TaskID | None = None
        self._last = -PAUSE
        self._pace = Pace()

    def __enter__(self) -> Progress:
        if self.shown and self.console.is_terminal:
            self._bar = rich.progress.Progress(
                rich.progress.TextColumn("{task.description}"), rich.progress.BarColumn(),
                rich.progress.TaskProgressColumn(), rich.progress.TextColumn("{task.fields[left]}"), console=self.console,
                transient=True, refresh_per_second=4,
            )  # fmt: skip
            self._task = self._bar.add_task("starting", total=1.0, left="")
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, line: str) -> None:
        """One line that stays."""
        if self.shown:
            self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def show(self, text: str, done: float, elapsed: float) -> None:
        """Where training stands: `done` is the share of the whole, from which the time left follows."""
        seconds = self._pace.left(done, elapsed)
        left = "" if seconds is None else f"{clock(seconds)} left"
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, description=text, left=left)
        elif self.shown and time.monotonic() - self._last >= PAUSE:
            self._last = time.monotonic()
            self.say(f"{text}  {done:.0%}  {left}")


class Pace:
    """How fast it went lately. A slow hour long ago, or before training was resumed, says nothing about the time left.

    >>> pace = Pace()
    >>> pace.left(0.1, 3600.0), pace.left(0.2, 3700.0)  # a tenth in an hour as far as is known; then one in 100 seconds
    (32400.0, 800.0)
    """

    def __init__(self) -> None:
        self._stood: deque[tuple[float, float]] = deque()

    def left(self, done: float, elapsed: float) -> float | None:
        """Seconds, from the share that is done by now; None as long as nothing is."""
        self._stood.append((done, elapsed))
        while len(self._stood) > 2 and elapsed - self._stood[1][1] > LATELY:
            self._stood.popleft()
        before, since = self._stood[0]
        if done > before and elapsed > since:
            return round((1 - done) * (elapsed - since) / (done - before), 3)
        return round((1 - done) * elapsed / done, 3) if done > 0 else None


def clock(seconds: float) -> str:
    """
    >>> clock(75), clock(3700)
    ('1:15', '1:01:40')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
