"""The Python code that the scenarios of experiments name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from forebay.disciplines.guests import Guests, digest_of, plans_of
from forebay.errors import InputError
from forebay.runs.simulate import check

from .plan import Plan


def checked(plans: Sequence[Plan], paths: Sequence[Path], *, allowed: bool) -> tuple[list[Plan], Guests]:
    """Validate every scenario of these plans, which come from these files, and find the classes that they name.

    Returns the plans with the code noted in each run. Raises ScenarioError, and InputError for code that may not run.
    """
    found = Guests.together(())
    for plan, path in zip(plans, paths, strict=True):
        names: set[str] = set()
        for text, name in {job.text: job.name for job in plan.jobs}.items():
            names.update(check(text, name))
        if names and not allowed:
            message = f"{path} names Python code, {min(names)}, which does not run without permission"
            message += "\nhint: if you trust that code, add --allow-python"
            raise InputError(message)
        found = Guests.together((found, plans_of(sorted(names), {}, path.parent)))
    code = digest_of(found)
    return [replace(plan, jobs=[replace(job, code=code) for job in plan.jobs]) for plan in plans], found
