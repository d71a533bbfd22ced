"""The objects of which a scenario can be built, one for each table of a scenario file.

Generated from the schema: each has the fields, the meanings and the defaults that `forebay schema` prints.
"""

from ._scenario_types import *  # noqa: F403
