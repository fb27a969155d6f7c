"""Operations command line and recovery runbooks for idempotency-key stores."""

__version__ = "0.1.0"
