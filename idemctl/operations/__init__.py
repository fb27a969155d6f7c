"""The verbs: gather, decide, apply. They never print; they return outcomes."""
