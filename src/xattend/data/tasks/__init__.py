"""Tasks: data that comes with the package, made or picked the same way every time. One file a task."""
