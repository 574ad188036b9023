"""The hash of the stored certificates, written with them."""

SHA256 = "48c5d9952668b44bb2cb7fea37c15b59631ed660ba92564a78dc7c26e7539b38"
