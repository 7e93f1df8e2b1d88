"""How a program will run on the chip: its instructions and tasks on a time axis."""
