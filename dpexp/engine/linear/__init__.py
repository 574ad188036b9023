"""One pass over fresh users with a linear predictor: every setting, eight replicates at once."""

BLOCK = 128
"""steps whose random numbers are drawn at once; even, so that no pair of normals straddles two blocks"""
SEGMENT = 32 * BLOCK
"""steps whose step sizes and user budgets are computed together"""
KEPT = 512
"""segments whose step sizes are kept for the next lane group: those of half a million steps of four schedules, 16 MB"""
