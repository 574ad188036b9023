"""The foundation: parameters, seeds, errors, checkpoints, digests and text. It imports nothing of dpexp."""
