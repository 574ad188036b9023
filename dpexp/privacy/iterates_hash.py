"""The hash of the stored certificates, written with them."""

SHA256 = "664e8091bfe0d93bba1e60376f6080d359a040310430e61d0761e6123eec5809"
