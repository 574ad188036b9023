"""The hash of the stored certificates, written with them."""

SHA256 = "727e3b73e68e31de5e0f0d4b8d7cba170dd8fb9fd1409ade5473986e7cac480c"
