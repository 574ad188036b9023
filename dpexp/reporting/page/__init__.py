"""The page of `dpexp report`: everything that is stored, in one HTML file that needs nothing else."""
