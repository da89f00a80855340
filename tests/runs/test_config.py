"""Layers of configuration, and the cells that they span."""

from __future__ import annotations

import pytest

from pbtbench.errors import ConfigurationError, SelectionError
from pbtbench.runs.config import RunConfig, resolve_config
from pbtbench.runs.plan import plan_cells
from pbtbench.runs.trial import Cell


def write(path, text):
    path.write_text(text)
    return path


def test_later_files_win_over_earlier_ones_and_options_over_files(tmp_path):
    one = write(tmp_path / "one.yaml", "seeds: 5\nrepeats: 2\nagent: nop\n")
    two = write(tmp_path / "two.yaml", "repeats: 3\nproblems-dir: /data\n")
    config = resolve_config([one, two], {"agent": ("reference", "nop"), "seeds": None, "model": ()})
    assert (config.seeds, config.repeats, config.agent) == (5, 3, ("reference", "nop"))
    assert str(config.problems_dir) == "/data"


def test_an_empty_file_changes_nothing(tmp_path):
    assert resolve_config([write(tmp_path / "e.yaml", "# nothing\n")], {}) == RunConfig()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seeds: 3\nsedes: 4\n", r"c\.yaml:2: sedes: there is no such setting"),
        ("agent: nop\nseeds: 0\n", r"c\.yaml:2: seeds: should be greater than or equal to 1, not 0"),
        ("mode: [pbt, expert]\n", r"c\.yaml:1: mode: .*'baseline', 'pbt' or 'framework'"),
        ("a: [\n", r"c\.yaml:2: not YAML"),
        ("- a\n", r"c\.yaml:1: must hold keys and values"),
    ],
)
def test_a_mistake_is_named_with_file_and_line(tmp_path, text, message):
    with pytest.raises(ConfigurationError, match=message):
        resolve_config([write(tmp_path / "c.yaml", text)], {})


def test_a_mistake_in_an_option_is_named_by_the_option():
    with pytest.raises(ConfigurationError, match="--time-limit: time_limit: "):
        resolve_config([], {"time_limit": -1})


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"none\.yaml: No such file"):
        resolve_config([tmp_path / "none.yaml"], {})


class TestCells:
    def cells(self, **settings):
        return plan_cells(RunConfig(**settings))

    def test_agents_without_a_model_stand_alone(self):
        assert self.cells(agent=("nop", "reference"), mode=("pbt", "baseline")) == (
            Cell("nop", None, "pbt"),
            Cell("nop", None, "baseline"),
            Cell("reference", None, "pbt"),
            Cell("reference", None, "baseline"),
        )

    def test_a_model_alone_goes_to_openhands(self):
        assert self.cells(model=("openai/x",)) == (Cell("openhands", "openai/x", "pbt"),)

    def test_every_model_meets_every_agent_that_uses_one(self):
        cells = self.cells(agent=("nop", "openhands"), model=("a", "b"))
        assert [cell.title for cell in cells] == ["nop pbt", "openhands a pbt", "openhands b pbt"]

    def test_one_name_twice_is_one_cell(self):
        assert len(self.cells(agent=("nop", "nop"))) == 1

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({}, "nothing to run"),
            ({"agent": ("openhands",)}, "needs a model"),
            ({"agent": ("nop",), "model": ("m",)}, "none of the agents"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, settings, message):
        with pytest.raises(ConfigurationError, match=message):
            self.cells(**settings)

    def test_an_unknown_agent_is_refused(self):
        with pytest.raises(SelectionError, match="no agent"):
            self.cells(agent=("mystery",))

    def test_names_are_safe_folder_names(self):
        assert Cell("openhands", "a/b:c d", "pbt").name == "openhands--a_b_c_d--pbt"
