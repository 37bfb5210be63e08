"""Pure array functions: rotations, kinematics, and rewriting a rig without moving it."""
