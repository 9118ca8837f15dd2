"""Visual Credit Audit: asks whether the image supported a vision-language model's decision.

Importing this package imports no torch; scoring does, in `vca_core.backends` and
`vca_core.scorer` alone.
"""

from importlib.metadata import PackageNotFoundError, version

from vca_core.records import CONTEXTS, INTERFACES, Sample, SchemaError, Score

try:
    __version__ = version("vca-core")
except PackageNotFoundError:  # a clone on PYTHONPATH, not installed
    __version__ = "0+unknown"

__all__ = ["CONTEXTS", "INTERFACES", "Sample", "SchemaError", "Score", "__version__"]
