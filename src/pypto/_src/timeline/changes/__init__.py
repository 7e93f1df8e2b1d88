"""Changes to a program that may make it faster, as passes: what hints propose and the tool tries.

A module a kind. Each has a function that looks at a kernel after the tensor passes, in SSA form,
and yields the changes that can be made to it; nobody has judged them yet (`timeline.hints` does).
"""
