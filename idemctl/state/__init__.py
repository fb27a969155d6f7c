"""What idemctl remembers between runs, in a folder that only its user can read."""
