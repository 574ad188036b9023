"""The hash of the stored certificates, written with them."""

SHA256 = "e17af033368fc59eef8ae93f8b7ad7c7d5848d1aee3385b49b0f3bb551682693"
