"""Eight replicates side by side as one value inside compiled code, with their random numbers and elementary
functions."""
