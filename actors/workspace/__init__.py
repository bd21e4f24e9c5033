"""Files, folders, Git and what changes in them: the host's view of the machine's disk. Imports no actor."""
