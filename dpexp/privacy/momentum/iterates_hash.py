"""The hash of the stored certificates, written with them."""

SHA256 = "0e715e0a9b7525b278a086c1ebc3cc8c97cd515b6a4dbe4e71cbe2ec38aae1cd"
