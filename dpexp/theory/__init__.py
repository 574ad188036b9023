"""THEOREMS: pure functions of plain numbers, one a statement of a paper; nothing here simulates."""

from dpexp.theory.table1 import corrected_exponent, remark_exponent, table1_exponent

THEOREMS = {
    "ldp-sgd: table 1": table1_exponent,
    "ldp-sgd: remarks 1 to 4": remark_exponent,
    "ldp-sgd: table 1, corrected": corrected_exponent,
}
