"""What everything stands on: parameters, seeds, errors, checkpoints, digests and text. It imports nothing of dpexp."""
