"""The commands: one file each, holding the click command `command`."""
