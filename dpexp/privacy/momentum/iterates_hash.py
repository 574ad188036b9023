"""The hash of the stored certificates, written with them."""

SHA256 = "03090066a5af4530bceb6a280f7a19e2af657ceec8c539fc77aba242f4784c9d"
