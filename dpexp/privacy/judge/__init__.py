"""A privacy bound, compared with exact laws: `dpexp judge FILE` and `dpexp.judge(function, assumes=...)`."""
