"""The hash of the stored certificates, written with them."""

SHA256 = "558a2702cc9a2c8a183cc194ea33de55052f1a3ea1fe3eafc147dd52572d8cec"
