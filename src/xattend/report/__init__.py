"""Reports: traces and tables for the terminal, for figures and as data."""
