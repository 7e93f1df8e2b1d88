"""The commands of ``pypto``, a module each: what it takes, what it does, what it prints."""
