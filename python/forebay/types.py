"""Typed objects of which a scenario can be built, one class for each table of a scenario file.

They are generated from the schema: each has the fields, the descriptions and the defaults that `forebay schema` prints.
They are Pydantic models, so an editor completes their fields, and a type checker finds wrong ones.

Example:
    >>> link = fb.types.LinkSpec(rate="100 Mbps", delay="1 ms")
    >>> scenario = fb.Scenario(
    ...     duration="2 s",
    ...     topology={"star": fb.types.Star(access=link, bottleneck=link)},
    ...     flows=[fb.types.FlowGroup(name="tcp", count=2, transport="tcp")],
    ... )
    >>> scenario.flows
    ['tcp-0', 'tcp-1']

"""

from ._scenario_types import *  # noqa: F403
