"""The hash of the stored certificates, written with them."""

SHA256 = "90ad01fbb3fda008a318ea1e0202dc5221dc8206a38dddd311523a05b184b92f"
