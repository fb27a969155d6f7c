"""The command line: words in, a report out, and every error in one line."""
