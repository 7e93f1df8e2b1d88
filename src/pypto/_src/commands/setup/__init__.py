"""The commands that look at the machine and set things up; they read no program."""
