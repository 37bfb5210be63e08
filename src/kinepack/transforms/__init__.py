"""Forward and inverse pairs that make motion easier to code."""
