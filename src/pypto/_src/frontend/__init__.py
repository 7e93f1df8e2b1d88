"""Python source -> IR. Knows the language's grammar; what an op is, it asks the op."""

from pypto._src.frontend.excepthook import install

install()  # where kernels are written, their errors are shown without our frames
