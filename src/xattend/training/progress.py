"""What a training shows: a bar with time left, loss and speed on a terminal; plain lines now and then elsewhere.

>>> import rich.console
>>> with Progress(rich.console.Console(width=100), shown=True) as progress:
...     progress.say("step 1")
step 1
"""

from __future__ import annotations

import time
from types import TracebackType

import rich.console
import rich.progress

PAUSE = 10.0  # seconds between plain lines


class Progress:
    """Shows nothing in processes other than the first (`shown=False`)."""

    def __init__(self, console: rich.console.Console | None, *, shown: bool) -> None:
        self.console = console or rich.console.Console(stderr=True)
        self.shown = shown
        self._bar: rich.progress.Progress | None = None
        self._task: rich.progress.TaskID | None = None
        self._last = -PAUSE

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
        left = f"{clock(elapsed * (1 - done) / done)} left" if done > 0 else ""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, description=text, left=left)
        elif self.shown and time.monotonic() - self._last >= PAUSE:
            self._last = time.monotonic()
            self.say(f"{text}  {done:.0%}  {left}")


def clock(seconds: float) -> str:
    """
    >>> clock(75), clock(3700)
    ('1:15', '1:01:40')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
