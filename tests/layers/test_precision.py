"""Products in bfloat16: near the float32 ones in every system, and out of the way of everything that is not a product."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from xattend import job, recipe
from xattend.layers.precision import _has_bfloat16, at_hand, of_products, product, products_in
from xattend.objectives.chunked import chunked_likelihood
from xattend.systems import assemble
from xattend.training.distributed import Group
from xattend.training.update import Updater


@pytest.fixture
def with_instructions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As on a processor that has instructions for bfloat16, whatever this one has."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True}, raising=False)
    _has_bfloat16.cache_clear()
    yield
    _has_bfloat16.cache_clear()


def task_of(name: str) -> dict[str, Any]:
    """The embedded task of a shipped recipe, with its settings; {} if it needs files."""
    task = recipe.load(name).resolve().section("data")["task"] or {}
    return {} if task.get("kind") == "fsdd" else task


RECIPES = [name for name, _ in recipe.shipped() if task_of(name)]


def gradients(name: str, precision: str, folder: Path) -> tuple[float, torch.Tensor]:
    """Loss and gradient of a recipe's first update."""
    rows = task_of(name).get("rows", 0)
    settings = recipe.load(name, [f"training.precision={precision}", *(["data.task.rows=100"] if rows > 100 else [])]).resolve()
    data = job.open_data(settings, folder, None)
    torch.manual_seed(3)
    system = assemble(settings, data.source, data.target).train()
    train = data.splits["train"]
    batch = train.batch(range(min(8, len(train))))
    with products_in(precision):
        loss = system.loss(batch)
    loss.total.backward()  # type: ignore[no-untyped-call]
    found = [weight.grad.flatten() for weight in system.parameters() if weight.grad is not None]
    assert all(gradient.dtype == torch.float32 for gradient in found)
    return float(loss.total.detach()), torch.cat(found)


@pytest.mark.parametrize("name", RECIPES)
def test_gradients_are_nearly_those_of_float32(name: str, tmp_path: Path) -> None:
    (exact, along), (near, beside) = (gradients(name, precision, tmp_path) for precision in ("float32", "bfloat16"))
    assert near == pytest.approx(exact, rel=0.02)
    assert torch.cosine_similarity(along, beside, dim=0) > 0.98


def test_the_output_layer() -> None:
    torch.manual_seed(1)
    hidden_ND, weight_VD, bias_V = torch.randn(40, 16, requires_grad=True), torch.randn(30, 16, requires_grad=True), torch.randn(30, requires_grad=True)
    labels_N, found = torch.randint(30, (40,)), {}
    for precision in ("float32", "bfloat16"):
        with products_in(precision):
            total, nll = chunked_likelihood(hidden_ND, weight_VD, bias_V, labels_N, 0.1)
        assert total.dtype == torch.float32
        found[precision] = (total, nll, *torch.autograd.grad(total, [hidden_ND, weight_VD, bias_V]))
    for exact, near in zip(*found.values(), strict=True):
        assert near.dtype == torch.float32
        assert torch.allclose(exact, near, rtol=0.02, atol=0.02 * float(exact.detach().abs().max()))
    assert any(not torch.equal(exact, near) for exact, near in zip(*found.values(), strict=True)), "the products were not in bfloat16"


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_a_product_in_the_type_of_its_factor(kind: torch.dtype) -> None:
    torch.manual_seed(1)
    x_NI, factor_IO, plus_NO = torch.randn(5, 7), torch.randn(7, 3), torch.randn(5, 3)
    expected, given, there_NO = x_NI @ factor_IO, factor_IO.to(kind), plus_NO.clone()
    for found, wanted in [
        (product(x_NI, given), expected),
        (product(x_NI, given, out=torch.empty(5, 3)), expected),
        (product(x_NI, given, plus_NO), expected + plus_NO),
        (product(x_NI, given, plus_NO[0], out=torch.empty(5, 3)), expected + plus_NO[0]),
        (product(x_NI, given, there_NO, out=there_NO), expected + plus_NO),  # what is added may lie where the sum goes
    ]:
        assert found.dtype == torch.float32
        assert torch.allclose(found, wanted, atol=0.1 if kind is torch.bfloat16 else 1e-5)


def test_only_inside() -> None:
    assert of_products() is None
    with products_in("float32"):
        assert of_products() is None
    with products_in("bfloat16"):
        assert of_products() is torch.bfloat16
    assert of_products() is None


@pytest.mark.usefixtures("with_instructions")
def test_a_recipe_asks_for_it(tmp_path: Path) -> None:
    """The update itself uses it: its loss is not that of float32, and all weights stay float32."""
    losses = []
    for precision in ("float32", "bfloat16"):
        settings = recipe.load("copy", [f"training.precision={precision}"]).resolve()
        data = job.open_data(settings, tmp_path, None)
        torch.manual_seed(1)
        updater = Updater.of(assemble(settings, data.source, data.target).train(), settings, Group())
        losses.append(updater.update(data.splits["train"].batch(range(16))).loss)
        assert {weight.dtype for weight in updater.parameters} == {torch.float32}
    assert losses[0] != losses[1]
    assert losses[0] == pytest.approx(losses[1], rel=0.01)


@pytest.mark.parametrize(("known", "found"), [({"avx512_bf16": False, "amx_bf16": False}, "float32"), ({"avx512_bf16": False, "amx_bf16": True}, "bfloat16"), ({}, "bfloat16")])
def test_without_instructions_for_it_products_stay_float32_and_it_is_said(
    known: dict[str, bool], found: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: known, raising=False)
    _has_bfloat16.cache_clear()
    try:
        assert (at_hand("bfloat16"), at_hand("float32")) == (found, "float32")
        job.start("copy", out=tmp_path / "run", overrides=["training.steps=1", "training.precision=bfloat16", "data.task.rows=100"], console=Console())
        assert ("no instructions for bfloat16" in " ".join(capsys.readouterr().out.split())) == (found == "float32")
    finally:
        _has_bfloat16.cache_clear()
