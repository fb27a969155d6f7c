"""Ports, and the adapters that fulfil them."""
