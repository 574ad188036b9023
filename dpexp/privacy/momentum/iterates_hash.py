"""The hash of the stored certificates, written with them."""

SHA256 = "cbd6f9e16d70c41e72ed8d10bf53fd59ad40272fefc147505829599c2a7264fc"
