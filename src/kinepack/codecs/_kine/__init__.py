"""The two halves of `kine`: analysis for its encoder, synthesis for its decoder."""
