"""How many steps are taken together. The compiler is not needed to know it."""

BLOCK = 128
"""steps whose random numbers are drawn at once; even, so that no pair of normals straddles two blocks"""
SEGMENT = 32 * BLOCK
"""steps whose step sizes and user budgets are computed together"""
KEPT = 512
"""segments whose step sizes are kept for the next lane group: 16 MB, all that four schedules have in half a million
steps"""
