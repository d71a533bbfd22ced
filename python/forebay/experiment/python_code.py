"""The Python code that the scenarios of experiments name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from forebay.disciplines.custom import CustomClasses, digest_of, plans_of
from forebay.errors import InputError
from forebay.runs.execute import Simulate
from forebay.runs.simulate import check
from forebay.runs.simulate import simulate as simulate_with_core

from .plan import Plan


def prepared(
    plans: Sequence[Plan], paths: Sequence[Path], *, allowed: bool, simulate: Simulate | None
) -> tuple[list[Plan], Simulate, CustomClasses | None]:
    """Return the plans, the function that runs a scenario, and the classes that the scenarios name.

    Without `simulate`, this function is the simulator, and all scenarios are valid: nothing runs before.
    """
    if simulate is not None:
        return list(plans), simulate, None
    found, custom = checked(plans, paths, allowed=allowed)
    return found, partial(simulate_with_core, custom=custom), custom


def checked(plans: Sequence[Plan], paths: Sequence[Path], *, allowed: bool) -> tuple[list[Plan], CustomClasses]:
    """Validate every scenario of these plans, which come from these files, and find the classes that they name.

    Returns the plans with the code noted in each run. Raises ScenarioError, and InputError for code that may not run.
    """
    found = CustomClasses.together(())
    for plan, path in zip(plans, paths, strict=True):
        names: set[str] = set()
        for text, name in {job.text: job.name for job in plan.jobs}.items():
            names.update(check(text, name))
        if names and not allowed:
            message = f"{path} names Python code, {min(names)}, which does not run without permission"
            message += "\nhint: if you trust that code, add --allow-python"
            raise InputError(message)
        found = CustomClasses.together((found, plans_of(sorted(names), {}, path.parent)))
    code = digest_of(found)
    return [replace(plan, jobs=[replace(job, code=code) for job in plan.jobs]) for plan in plans], found
