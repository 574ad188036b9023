"""The hash of the stored certificates, written with them."""

SHA256 = "23c0041eb869998a27e3816f38df44889524a89b293469aa216f3438ac8dc0ee"
