"""The hash of the stored certificates, written with them."""

SHA256 = "b8ef91b94d3db6a837180ee893c9b88da7219a1e7abe58083e5738a2a301846e"
