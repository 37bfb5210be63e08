"""Metrics: registered pure functions with unit and direction."""
