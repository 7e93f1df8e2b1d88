"""Text out: PTO MLIR, C++ for PTO ISA, orchestration C++. No decisions about meaning."""
