"""What makes files that dpexp ships: data sets and certificates. Nothing here is needed to use it."""
