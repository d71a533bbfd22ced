"""Results as documents, frames and files: writing them, and reading what may be damaged or foreign."""
