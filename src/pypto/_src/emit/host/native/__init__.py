"""Host functions as C++ for the machine that PyPTO runs on."""
