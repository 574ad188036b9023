"""The hash of the shipped pairs, written with them."""

SHA256 = "7b9719f5fe9b0de3aaad0f46e5447baf"
