"""Lossless coding of integers: encode and decode pairs."""
