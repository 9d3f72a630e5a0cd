"""Fields: how one side of a row becomes numbers, and numbers become text again. One file a kind of value."""
