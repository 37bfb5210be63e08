"""The papers' tables beside our own figures on the same motion."""
