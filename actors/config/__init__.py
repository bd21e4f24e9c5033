"""The configuration: the table of keys, the file, and the settings in force.

    settings = Settings(folders.config_file, read_environment(os.environ, cwd), read_flags(flags, cwd))
    settings.config.session_idle_ms

`model` declares the keys; `settings` says how their values come about.
"""

from actors.config.errors import ConfigError
from actors.config.file import find_key, set_key, unset_key
from actors.config.keys import KEYS, Key, build, root_schema
from actors.config.model import AgentEntry, Config
from actors.config.settings import Change, Settings, read_environment, read_flags

__all__ = [
    "KEYS",
    "AgentEntry",
    "Change",
    "Config",
    "ConfigError",
    "Key",
    "Settings",
    "build",
    "find_key",
    "read_environment",
    "read_flags",
    "root_schema",
    "set_key",
    "unset_key",
]
