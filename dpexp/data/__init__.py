"""DATASETS: labelled records to learn from, shipped or the user's own; prepared without statistics of theirs."""

from dpexp.core.errors import DataError
from dpexp.data.dataset import Dataset, Split
from dpexp.data.load import DATASETS, load_split

__all__ = ["DATASETS", "DataError", "Dataset", "Split", "load_split"]
