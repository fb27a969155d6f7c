"""Drivers run in the environment of the libraries; pytest does not look into them."""

collect_ignore = ["drivers"]
