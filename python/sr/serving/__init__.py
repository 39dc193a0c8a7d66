"""Serving past one process. `sr.serving.ray` needs Ray Serve: pip install "ray[serve]"."""
