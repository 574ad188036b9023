"""The hash of the stored certificates, written with them."""

SHA256 = "0af6c714211e814fed8b2f42133f999cb106f1ee96e7aee7149d0e17aadff13b"
