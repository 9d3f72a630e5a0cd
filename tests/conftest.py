"""Settings of all tests. `--part FILE` loads a user's part first, so that the contract tests run over it as well."""

from __future__ import annotations

import os
import signal

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the suite runs two processes side by side

import torch

from xattend import registry

torch.set_num_threads(1)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell starts what runs in its background so, and the programs that tests start would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", action="append", default=[], help="a Python file that registers a part to be tested")


def pytest_configure(config: pytest.Config) -> None:
    for file in config.getoption("--part"):
        registry.load_plugin(file)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)
