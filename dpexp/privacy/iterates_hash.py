"""The hash of the stored certificates, written with them."""

SHA256 = "a1921733d3fe1ad2fdea01f81f921178c70efeed5d1892f00b74fd0f33604918"
