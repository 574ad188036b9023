"""The hash of the shipped pairs, written with them."""

SHA256 = "1bbac2d4269ea453bde4c6062cc31ea3"
