"""A vision model of Hugging Face transformers from a folder on this machine, such as one that `save_pretrained` wrote.

    source = { kind = "image", backbone = "huggingface", weights = "models/resnet-18", size = 224 }

Its last layer is read: the map of a convolutional network, or the patches of a vision transformer, tokens that are no patch left out.
Picture size, mean and standard deviation come from the folder's preprocessor_config.json. Weights must be safetensors; nothing is downloaded,
and no code out of the folder is run. Needs pip install 'xattend[hf]'.
"""

from __future__ import annotations

import importlib.util
import json
import math
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import torch
from torch import Tensor, nn

from xattend.backbones.base import Backbone, Stage, missing
from xattend.data.cache import digest, file_digest
from xattend.errors import UserError
from xattend.registry import register

HALF = (0.5, 0.5, 0.5)


@register("backbone", "huggingface")
class HuggingFace(Backbone):
    """The last layer of a vision model in a folder."""

    def __init__(self, *, folder: Annotated[str | None, "where config.json and the weights lie"] = None) -> None:
        if folder is None:
            raise UserError("backbone 'huggingface' needs a folder: set data.source.weights")
        self.folder = Path(folder)
        self.config = self._json("config.json")
        ways = self._json("preprocessor_config.json")
        self.size = self._side(ways)
        mean, std = ways.get("image_mean", HALF), ways.get("image_std", HALF)
        if len(mean) != 3 or len(std) != 3:
            raise UserError("image_mean and image_std must have three numbers", file=self.folder / "preprocessor_config.json")
        self.mean, self.std = tuple(mean), tuple(std)

    def _json(self, name: str) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads((self.folder / name).read_text("utf-8"))
        except (OSError, ValueError) as error:
            said = getattr(error, "strerror", None) or error
            raise UserError(f"cannot be read ({said}): a folder that save_pretrained wrote is needed", file=self.folder / name) from None
        return found

    def _side(self, ways: dict[str, Any]) -> int:
        """Pixels of a side, in one of the ways that this has been written down."""
        for given in (ways.get("crop_size"), ways.get("size"), self.config.get("image_size")):
            if isinstance(given, dict):
                given = given.get("height", given.get("shortest_edge"))
            if isinstance(given, int):
                return given
        raise UserError("no picture size in it", file=self.folder / "preprocessor_config.json")

    @cached_property
    def _version(self) -> str:
        return digest([[file.name, file_digest(file)] for file in sorted(self.folder.iterdir()) if file.suffix in (".json", ".safetensors")])

    def version(self) -> str:
        return self._version

    @cached_property
    def _last(self) -> Stage:
        map_BDHW = self._map(torch.zeros(1, 3, self.size, self.size))
        return Stage((map_BDHW.shape[2], map_BDHW.shape[3]), map_BDHW.shape[1])

    @property
    def stages(self) -> dict[str, Stage]:
        return {"last": self._last}

    def load(self) -> nn.Module:
        check_torchvision()
        try:
            from transformers import AutoModel
        except ImportError:
            raise missing("transformers", "hf") from None
        if not list(self.folder.glob("*.safetensors")):
            raise UserError("no .safetensors in it: save the model with save_pretrained(..., safe_serialization=True)", file=self.folder)
        try:
            found: nn.Module = AutoModel.from_pretrained(
                str(self.folder), local_files_only=True, use_safetensors=True, trust_remote_code=False
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise UserError(f"transformers cannot load it: {str(error).splitlines()[0]}", file=self.folder) from None
        vision = getattr(found, "vision_model", None)  # the half of CLIP and the like that sees
        return vision if isinstance(vision, nn.Module) else found

    def read(self, pixels_BCHW: Tensor, stage: str) -> Tensor:
        return self._map(pixels_BCHW)

    @torch.inference_mode()
    def _map(self, pixels_BCHW: Tensor) -> Tensor:
        states = getattr(self.network(pixel_values=pixels_BCHW), "last_hidden_state", None)
        if not isinstance(states, Tensor) or states.dim() not in (3, 4):
            raise UserError("the model has no last layer of places: it cannot be a backbone", file=self.folder)
        if states.dim() == 4:
            return states
        patch = self.config.get("patch_size", self.config.get("vision_config", {}).get("patch_size"))
        side = self.size // patch if isinstance(patch, int) else math.isqrt(states.shape[1])
        patches_BSD = states[:, states.shape[1] - side * side :]  # what is no patch stands in front
        return patches_BSD.transpose(1, 2).reshape(len(states), -1, side, side)


def check_torchvision() -> None:
    """transformers imports torchvision if it is there, and fails with a riddle if that does not fit this torch."""
    if importlib.util.find_spec("torchvision") is None:
        return
    try:
        importlib.import_module("torchvision")
    except Exception as error:  # a wrong build raises RuntimeError, ImportError, OSError or AttributeError
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(
            f"the torchvision that is installed does not fit this torch {torch.__version__} ({said}), and transformers imports it: "
            "pip uninstall torchvision (it is not needed here), or install the build of your torch"
        ) from None
