"""The records of the data set `fashion`, in fashion.npz beside this file; dpexp reads them."""
