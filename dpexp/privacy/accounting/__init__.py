"""Numbers behind the analyses: Gaussian DP, Renyi divergences, privacy losses, conversions and calibration."""
