"""The hash of the stored certificates, written with them."""

SHA256 = "583feec9cfb396ecc2d547826226c2339934cfacbedd6c69f9d9aae955363751"
