"""The hash of the stored certificates, written with them."""

SHA256 = "61f0770a467daa3a93a682878bfd2a750a658e445cac1fb17be175dffb516aa6"
