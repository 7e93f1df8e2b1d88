"""Changes to a program that may make it faster, as passes: what hints propose and the tool tries.

One module for each kind. It has a function that looks at a kernel after the tensor passes, in SSA
form, and yields the changes that can be made to it; `timeline.hints` then judges them.
"""
