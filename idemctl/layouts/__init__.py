"""How a library writes records, as a file: model, conditions, catalogue, reading."""
