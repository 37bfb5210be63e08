"""The `.kine` file: magic, checksummed chunks, an index of segments. Knows no codec."""
