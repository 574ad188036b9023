"""The hash of the stored certificates, written with them."""

SHA256 = "fdb3fddbbadc6f29d2eda6f4b744426e4208b82a4cc6084da591174a4f63baae"
