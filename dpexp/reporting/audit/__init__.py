"""The audit of what is really run: the engine's own steps in two worlds, and what an observer learns of them."""
