"""File formats: each module registers one or more `Format`s."""
