"""The arguments of compiled programs: what fits, what sizes they tell, what words kernels take."""
