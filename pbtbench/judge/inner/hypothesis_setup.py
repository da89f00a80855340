"""Makes Hypothesis repeatable, and as quick as a verdict needs it, without touching what tests ask for.

Everything here is the same for every tree. The test file's own ``@settings`` stay in force except
for two things that no verdict may depend on: the example database (a failure stored under one tree
must not be replayed under another) and the phases after the first failure (shrinking and explaining
change the report, never the outcome).
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Collection
from typing import Any

_COUNTED = ("valid", "invalid", "interesting", "overrun")


def load_profile() -> None:
    """The defaults for tests that say nothing: no deadline and no too_slow, which measure the machine."""
    from hypothesis import HealthCheck, settings

    settings.register_profile(
        "pbtbench",
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("pbtbench")


def restrict_settings() -> None:
    """Hide database, shrinking and explaining from the engine, whatever a test's settings hold."""
    from hypothesis import Phase, settings

    verdict_phases = frozenset({Phase.explicit, Phase.generate, Phase.target})
    own_phases: Any = vars(settings)["phases"].fget

    def phases(self: settings) -> Collection[Phase]:
        return tuple(phase for phase in own_phases(self) if phase in verdict_phases)

    # The class refuses plain assignment, to catch users who mistake it for a namespace of options.
    type.__setattr__(settings, "phases", property(phases, doc=settings.phases.__doc__))
    type.__setattr__(settings, "database", property(lambda _self: None, doc=settings.database.__doc__))


def warm_up() -> None:
    """Pay once, before forking, for what Hypothesis loads or computes at first use.

    The image holds its tables of Unicode (``hypothesis_storage``), which take seconds to compute.
    """
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = sysconfig.get_path("purelib") + "/hypothesis_storage"
    from hypothesis import configuration, given, settings, strategies
    from hypothesis.internal import charmap

    charmap.charmap()
    charmap.categories()

    @settings(max_examples=5, database=None, deadline=None)
    @given(strategies.lists(strategies.tuples(strategies.integers(), strategies.text(), strategies.floats())))
    def example(_values: list[object]) -> None:
        pass

    example()
    configuration.set_hypothesis_home_dir(None)


def force_seed(seed: int) -> None:
    """Every ``@given`` test and state machine draws from this seed (as ``--hypothesis-seed`` does)."""
    from hypothesis import core

    core.global_force_seed = seed  # type: ignore[assignment]


class ExampleCounter:
    """Counts the examples that Hypothesis ran, by status, through its own statistics."""

    def __init__(self) -> None:
        self.ran = False
        self.examples = 0
        self.discarded = 0

    def install(self) -> None:
        """Listen where Hypothesis' pytest plugin passes the statistics of each test."""
        from hypothesis import statistics

        describe = statistics.describe_statistics

        def listen(stats_dict: Any) -> str:
            self.add(stats_dict)
            return describe(stats_dict)

        statistics.describe_statistics = listen

    def reset(self) -> None:
        """Start counting for another test."""
        self.ran = False
        self.examples = self.discarded = 0

    def add(self, stats: Any) -> None:
        """Take the statistics dictionary of one test."""
        self.ran = True
        for phase, values in stats.items():
            if not phase.endswith("-phase"):
                continue
            cases = values.get("test-cases", ())
            for case in cases:
                if case["status"] in ("invalid", "overrun"):
                    self.discarded += 1
                elif case["status"] in _COUNTED:
                    self.examples += 1
