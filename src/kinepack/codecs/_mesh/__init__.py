"""Stages that the mesh codecs share."""
