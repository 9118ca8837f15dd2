"""One file per model family, holding only what differs between them."""

from vca_core.backends.base import Backend, BackendError, Encoded
from vca_core.backends.load import load_backend
from vca_core.backends.toy import ToyBackend

__all__ = ["Backend", "BackendError", "Encoded", "ToyBackend", "load_backend"]
