"""The playground: a page on which kernels are edited and run, in a Python inside of the browser."""
