"""The hash of the shipped pairs, written with them."""

SHA256 = "7e8971cbabdc6377045665db88aacfec"
