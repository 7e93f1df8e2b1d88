"""Python source -> IR. Knows the language's grammar; asks each op what it is."""

from pypto._src.frontend.excepthook import install

install()  # where kernels are written, their errors are shown without our frames
