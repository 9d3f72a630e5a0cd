"""DRAW, its control and the soft-window classifier: the bound's parts by hand, noise, independence of the batch, and learning."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from tests.systems import pictures
from xattend.encoders.glimpses import Glimpses
from xattend.errors import UserError
from xattend.glimpses import Gaussian
from xattend.search.greedy import Greedy
from xattend.systems import draw_fused
from xattend.systems.draw import Draw
from xattend.systems.generative import Generative, divergence
from xattend.types import Batch, Padded

SMALL: dict[str, Any] = {"kind": "draw", "steps": 3, "size": 24, "code": 4, "read": {"kind": "gaussian", "size": 3}, "write": {"kind": "gaussian", "size": 4}}
KINDS: list[dict[str, Any]] = [SMALL, {**SMALL, "read": "whole", "write": "whole"}, {"kind": "vae", "size": 24, "code": 4}]
each_kind = pytest.mark.parametrize("given", KINDS, ids=["draw", "without attention", "vae"])


def painter(given: dict[str, Any]) -> Generative:
    model = pictures.system(system=given)
    assert isinstance(model, Generative)
    return model


def black_and_white(size: int, seed: int) -> Batch:
    rows = pictures.batch(size, seed)
    assert rows.source is not None
    return Batch(Padded((rows.source.values > 0.5).float(), rows.source.mask_BS), rows.target, rows.rows)


@each_kind
def test_the_codes_price_is_that_of_every_step_and_every_number(given: dict[str, Any]) -> None:
    """A code of mean 1 and deviation 1 costs half a nat a number; one that is the prior costs nothing."""
    model, rows = painter(given), black_and_white(2, 1)
    for mean, price in ((1.0, 0.5), (0.0, 0.0)):
        torch.nn.init.zeros_(model.to_code.weight)  # type: ignore[arg-type, union-attr]
        model.to_code.bias.data = torch.tensor([mean] * 4 + [0.0] * 4)  # type: ignore[union-attr]
        _, code_B = model.bound(model.pictures(rows))
        assert code_B.tolist() == pytest.approx([model.steps * 4 * price] * 2, abs=1e-5)
    assert float(divergence(torch.zeros(1, 1), torch.full((1, 1), math.log(2.0)))) == pytest.approx(0.5 * (4 - math.log(4) - 1))


@each_kind
def test_an_empty_canvas_costs_a_bit_a_pixel(given: dict[str, Any]) -> None:
    model = painter(given)
    for weight in model.parameters():
        torch.nn.init.zeros_(weight)
    picture_B, _ = model.bound(model.pictures(black_and_white(3, 1)))
    assert picture_B.tolist() == pytest.approx([pictures.SIDE**2 * math.log(2)] * 3, rel=1e-5)


@each_kind
def test_noise_is_new_at_every_step_and_the_pictures_own_in_evaluation(given: dict[str, Any]) -> None:
    model, rows = painter(given).eval(), model_rows()
    for training in (True, False):
        noise_TBZ = model.train(training).noise(model.pictures(rows))
        assert noise_TBZ.shape == (model.steps, 6, 4)
        assert noise_TBZ[:, 0].unique().numel() == 4 * model.steps  # of one picture; there are equal ones among them
    together, alone = model.score(rows), model.score(rows.part(slice(4, 5)))
    assert alone[0] == pytest.approx(together[4], rel=1e-5)
    assert model.score(rows) == together


def model_rows() -> Batch:
    return black_and_white(6, 2)


def test_the_first_window_is_the_whole_picture() -> None:
    model = painter(SMALL).eval()
    trace = model.predict(model_rows(), Greedy(), attention=True)[0].trace
    assert trace is not None
    assert trace.boxes_TK4 is not None
    assert trace.boxes_TK4.shape == (3, 2, 4)
    assert trace.kind == "canvas"
    assert trace.heads == ["read", "write"]
    assert trace.pixels is not None
    assert trace.pixels.shape == (3, pictures.SIDE, pictures.SIDE, 3)
    # from half a stride before the first pixel to half a stride behind the last: (16 - 1) / (3 - 1) wide
    assert trace.boxes_TK4[0, 0, 2] - trace.boxes_TK4[0, 0, 0] == pytest.approx(3 * 7.5 / 16, abs=1e-5)


@each_kind
def test_samples_are_painted_step_by_step(given: dict[str, Any]) -> None:
    model = painter(given).eval()
    film_TBCHW = model.sample(5, seed=1)
    assert film_TBCHW.shape == (model.steps, 5, 1, pictures.SIDE, pictures.SIDE)
    torch.testing.assert_close(film_TBCHW, model.sample(5, seed=1))
    assert not torch.equal(film_TBCHW, model.sample(5, seed=2))
    assert bool(((film_TBCHW >= 0) & (film_TBCHW <= 1)).all())


def test_draw_is_its_equations() -> None:
    """Step by step, the picture and what is missing of it read one after the other."""
    torch.manual_seed(1)
    model, rows = painter(SMALL), model_rows()
    assert isinstance(model, Draw)
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    picture, window = model.pictures(rows), Gaussian(model.space, size=3)
    noise = model.noise(picture)
    painted = model.paint(picture, noise)
    canvas, code, h_enc, h_dec = model.blank.expand_as(picture), torch.zeros(6), model.encoder.start(6), model.decoder.start(6)
    assert model.place_read is not None
    for t in range(3):
        missing = picture - torch.sigmoid(canvas)
        where = model.place_read(h_dec[0])
        seen = [window.read(window.bind(part), where).view(6, 3, 1, 3) for part in (picture, missing)]
        h_enc = model.encoder(torch.cat([torch.cat(seen, dim=2).flatten(1), h_dec[0]], dim=1), h_enc)
        mean, log_std = model.to_code(h_enc[0])[:, :4], model.to_code(h_enc[0])[:, 4:]
        prior, posterior = torch.distributions.Normal(0.0, 1.0), torch.distributions.Normal(mean, log_std.exp())
        code = code + torch.distributions.kl_divergence(posterior, prior).sum(dim=1)
        h_dec = model.decoder(mean + log_std.exp() * noise[t], h_dec)
        stroke = model.stroke(h_dec[0])
        canvas = canvas + model.write.write(stroke[:, :16], stroke[:, 16:])
    for way in (painted, model.one_by_one(picture, noise)):
        torch.testing.assert_close(way.canvas_BCHW, canvas)
        torch.testing.assert_close(way.code_B, code)


@pytest.mark.parametrize("given", [{}, {"steps": 1}], ids=str)
def test_the_fused_loop_is_the_plain_loop(given: dict[str, Any]) -> None:
    """Every value and every gradient, with windows that are cut at their least and greatest width among them."""
    torch.manual_seed(1)
    model = painter({**SMALL, **given}).double()
    assert isinstance(model, Draw)
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    assert model.place_read is not None
    model.place_read.bias.data[2:4] = torch.tensor([-8.0, 3.0])
    picture_BCHW = model.pictures(model_rows()).double()
    noise_TBZ, found = model.noise(picture_BCHW).double(), []
    assert draw_fused.plan(model.read, model.write, model.encoder, model.decoder) is not None
    for way in (model.paint, model.one_by_one):
        painted = way(picture_BCHW, noise_TBZ)
        loss = model.missed(painted.canvas_BCHW, picture_BCHW).sum() + painted.code_B @ torch.linspace(0.5, 2, 6).double()
        grads = torch.autograd.grad(loss, list(model.parameters()))
        found.append((painted.canvas_BCHW, painted.code_B, grads))
    torch.testing.assert_close(found[0][:2], found[1][:2])
    for (name, _), one, other in zip(model.named_parameters(), found[0][2], found[1][2], strict=True):
        assert model.steps == 1 or bool(one.any()), name  # one step has no state before it
        torch.testing.assert_close(one, other, msg=lambda told, name=name: f"{name}: {told}")


def test_the_fused_loop_against_finite_differences() -> None:
    torch.manual_seed(2)
    model = painter({**SMALL, "steps": 2, "size": 3, "code": 2}).double()
    assert isinstance(model, Draw)
    drawn = {name: weight.detach().normal_(std=0.4).requires_grad_() for name, weight in model.named_parameters()}
    picture_BCHW, noise_TBZ = torch.rand(2, 1, pictures.SIDE, pictures.SIDE).double(), torch.randn(2, 2, 2).double()
    at_a_few = torch.randn(1, 1, pictures.SIDE, pictures.SIDE).double()

    def painted(*given: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        found = torch.func.functional_call(model, dict(zip(drawn, given, strict=True)), (picture_BCHW, noise_TBZ))
        return (found.canvas_BCHW * at_a_few).sum(dim=(1, 2, 3)), found.code_B

    model.forward = model.paint  # type: ignore[method-assign]
    assert torch.autograd.gradcheck(painted, tuple(drawn.values()), fast_mode=True)


def test_only_training_through_gaussian_windows_is_fused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the plain loop")

    monkeypatch.setattr(Draw, "one_by_one", refuse)
    painter(SMALL).train().loss(model_rows())
    with pytest.raises(AssertionError, match="the plain loop"):
        painter(KINDS[1]).train().loss(model_rows())
    with pytest.raises(AssertionError, match="the plain loop"):
        painter({**SMALL, "cell": "gru"}).train().loss(model_rows())
    with pytest.raises(AssertionError, match="the plain loop"):
        painter(SMALL).sample(2)


@each_kind
def test_it_learns_to_paint(given: dict[str, Any]) -> None:
    model = painter(given)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    torch.manual_seed(5)
    for step in range(80):
        loss = model.train().loss(black_and_white(32, step))
        optimiser.zero_grad()
        (loss.total / 32).backward()
        optimiser.step()
    nats = -sum(sum(score) for score in model.eval().score(black_and_white(64, 999))) / 64
    assert nats < 60, nats  # four pictures could do with log 4; an empty canvas costs 177
    assert set(loss.parts) == {"picture", "code"}


def test_the_classifier_with_soft_windows_learns_and_shows_where_it_looked() -> None:
    encoder = {"kind": "glimpses", "glimpse": {"kind": "gaussian", "size": 4}, "looks": 3, "size": 32, "inner": 32}
    model = pictures.system(system={"kind": "classify"}, encoder=encoder)
    pictures.learn(model, 160, lr=0.01, rows=32)
    assert pictures.right(model) > 0.95
    trace = model.predict(pictures.batch(2, 3), Greedy(), attention=True)[1].trace
    assert trace is not None
    assert trace.boxes_TK4 is not None
    assert trace.boxes_TK4.shape == (3, 1, 4)


@pytest.mark.parametrize("encoder", [{"widths": [32, 32]}, {"widths": [32], "filters": 4, "filter": 4, "stride": 4}])
def test_its_controls_learn(encoder: dict[str, Any]) -> None:
    model = pictures.system(system={"kind": "classify"}, encoder={"kind": "dense", **encoder})
    pictures.learn(model, 60, lr=0.01, rows=32)
    assert pictures.right(model) > 0.95


def test_a_writer_with_draws_glimpses_learns() -> None:
    """Sequence to sequence, its memory what was seen at each look: a captioner with DRAW's window, whose filters lie close enough to see the pattern from the start."""
    model = pictures.system(
        system={"kind": "seq2seq"}, encoder={"kind": "glimpses", "glimpse": {"kind": "gaussian", "size": 10}, "looks": 3, "size": 32, "inner": 32},
        attention={"kind": "additive", "size": 16}, decoder={"kind": "rnn", "size": 32, "embedding": 8},
    )  # fmt: skip
    pictures.learn(model, 120)
    assert pictures.right(model) > 0.85
    trace = model.predict(pictures.batch(2, 3), Greedy(), attention=True)[0].trace
    assert trace is not None
    assert trace.weights_THS.shape == (2, 1, 3)  # a word and the end, over three looks
    assert (trace.kind, trace.source_tokens) == ("picture", ["1", "2", "3"])
    assert trace.boxes_TK4 is not None
    assert trace.boxes_TK4.shape == (2, 3, 4)  # both have the windows of all looks
    encoder = model.encoder
    assert isinstance(encoder, Glimpses)
    _, where = encoder.walk(pictures.batch(2, 3).source.values[:, 0])  # type: ignore[union-attr]
    for look in range(3):
        expected = encoder.window.boxes(where[look])[0, 0].detach().numpy()
        np.testing.assert_allclose(trace.boxes_TK4[:, look], [expected, expected], atol=1e-5)
    assert np.abs(trace.boxes_TK4[0, 0] - trace.boxes_TK4[0, 2]).max() > 0.01  # it moves


def test_hard_windows_are_refused() -> None:
    with pytest.raises(UserError, match="hard glimpse"):
        painter({**SMALL, "read": "retina"})
    with pytest.raises(UserError, match="hard glimpse"):
        pictures.system(system={"kind": "classify"}, encoder={"kind": "glimpses", "glimpse": "retina"})
