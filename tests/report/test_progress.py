"""What a run shows while it goes on."""

from __future__ import annotations

import io
import threading

from rich.console import Console

from pbtbench.report.progress import Display, LiveDisplay, PlainDisplay, make_display


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def story(display: Display) -> None:
    with display:
        display.step("prepare", "DEMO-001")
        display.planned(4, 1)
        display.phase("DEMO-001/nop/r1", "judge screen 1/3")
        display.phase("DEMO-001/nop/r1", "judge screen 1/3")
        display.retrying("DEMO-001/nop/r1", "hiccup", 2.0)
        display.finished("DEMO-001/nop/r1", 0.25)
        display.finished("DEMO-002/nop/r1", 0.75)
        display.gave_up("DEMO-003/nop/r1", "no service [red]")
        display.stopping(1)
        display.stopping(1)
        display.stopping(0)


def test_the_display_suits_the_stream():
    assert isinstance(make_display(Terminal(), quiet=False, verbose=False), LiveDisplay)
    assert isinstance(make_display(io.StringIO(), quiet=False, verbose=False), PlainDisplay)
    assert type(make_display(Terminal(), quiet=True, verbose=False)) is Display


def test_plain_lines_hold_count_mean_and_no_escape_codes():
    stream = io.StringIO()
    story(PlainDisplay(stream, verbose=False))
    lines = stream.getvalue().splitlines()
    assert lines[:3] == [
        "prepare: DEMO-001",
        "1 of 4 trials are done already",
        "DEMO-001/nop/r1: hiccup; trying again in 2 s",
    ]
    assert lines[3].startswith("[2/4] DEMO-001/nop/r1 recall 0.25 (mean 0.25, ")
    assert lines[4].startswith("[3/4] DEMO-002/nop/r1 recall 0.75 (mean 0.50, ")
    assert lines[5] == "DEMO-003/nop/r1: not judged: no service [red]"
    assert [line.split(":")[1][:3] for line in lines[6:]] == [" 1 ", " 0 "]
    assert "\x1b" not in stream.getvalue()


def test_verbose_lines_name_each_phase_once():
    stream = io.StringIO()
    story(PlainDisplay(stream, verbose=True))
    assert stream.getvalue().count("  DEMO-001/nop/r1: judge screen 1/3\n") == 1


def render(display: LiveDisplay) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(display._render())
    return console.file.getvalue()


def test_the_live_display_has_a_bar_and_a_line_for_each_trial_at_work():
    display = LiveDisplay(Console(file=io.StringIO(), force_terminal=True, width=120))
    display.planned(3, 0)
    display.phase("DEMO-001/nop/r1", "judge decide fixed:bug_2")
    display.phase("DEMO-002/nop/r1", "sandbox")
    display.finished("DEMO-002/nop/r1", 0.5)
    text = render(display)
    assert "1/3" in text
    assert "recall 0.50" in text
    assert "cost n/a" in text
    assert "DEMO-001/nop/r1" in text
    assert "judge decide fixed:bug_2" in text
    assert "DEMO-002" not in text


def test_more_trials_than_lines_are_counted():
    display = LiveDisplay(Console(file=io.StringIO(), force_terminal=True, width=120))
    for n in range(30):
        display.phase(f"T{n}", "agent")
    assert "and 10 more" in render(display)


def test_colours_are_left_out_when_the_user_says_so(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    story(make_display(stream, quiet=False, verbose=False))
    colours = [f"\x1b[{code}m" for code in range(30, 38)]
    assert not any(colour in stream.getvalue() for colour in colours)
    assert "not judged: no service [red]" in stream.getvalue()


def test_many_threads_may_tell_at_once():
    stream = io.StringIO()
    display = PlainDisplay(stream, verbose=False)
    display.planned(40, 0)
    threads = [threading.Thread(target=display.finished, args=(f"T{n}", 1.0)) for n in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 40
    assert all(line.startswith("[") and line.endswith(" s)") for line in lines)
