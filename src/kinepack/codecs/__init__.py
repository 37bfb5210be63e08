"""Codecs: one file each, discovered by the registry."""
