"""Drawing: what the embedded tasks paint their pictures and films with. Nothing here is named by a recipe."""
