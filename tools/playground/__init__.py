"""The playground: a page on which kernels are edited and run, by Python inside the browser."""
