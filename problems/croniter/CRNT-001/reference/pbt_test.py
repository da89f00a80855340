# pbtbench canary pbtbench-8cd0d1aa-85ad-4d9a-ac54-2c04090d0f11 — benchmark data must not appear in training corpora
from datetime import datetime

from croniter import CroniterBadDateError, croniter
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
quick = {"deadline": None, "phases": [Phase.explicit, Phase.generate]}


@settings(max_examples=40, **quick)
@given(
    years=st.sets(st.integers(1975, 2060), min_size=1, max_size=3),
    gap=st.integers(1, 5),
    month=st.sampled_from(["*", "12", "11-12", "dec"]),
    start=st.datetimes(datetime(2000, 1, 1), datetime(2000, 12, 28)),
)
def test_the_previous_time_is_found_in_an_earlier_year(years, gap, month, start):
    """No time that matches lies between what get_prev returns and where it started."""
    start = start.replace(year=max(years) + gap)
    expr = f"30 6 * {month} * 0 {','.join(str(y) for y in sorted(years))}"
    before = croniter(expr, start).get_prev(datetime)
    try:
        after = croniter(expr, before).get_next(datetime)
    except CroniterBadDateError:
        after = None
    assert after is None or after >= start


@settings(max_examples=40, **quick)
@given(
    first=st.integers(1, 28),
    step=st.integers(2, 15),
    weekday=st.integers(0, 6),
    star_in_day=st.booleans(),
    base=st.datetimes(datetime(2000, 1, 1), datetime(2040, 1, 1)),
)
def test_day_and_weekday_combine_as_the_cron_bug_says(first, step, weekday, star_in_day, base):
    """The cron bug concerns fields that start with '*'; others keep the union."""
    if star_in_day:
        expr = f"0 0 {first},*/{step} * {weekday}"
    else:
        expr = f"0 0 {first} * {weekday},*/{2 + step % 3}"
    plain = croniter(expr, base)
    compatible = croniter(expr, base, implement_cron_bug=True)
    for _ in range(3):
        assert compatible.get_next(datetime) == plain.get_next(datetime)


@st.composite
def year_fields(draw):
    """Text of a year field and the years that it names."""
    parts, years = [], set()
    for _ in range(draw(st.integers(1, 3))):
        low = draw(st.integers(1970, 2090))
        if draw(st.booleans()):
            parts.append(str(low))
            years.add(low)
        else:
            high = draw(st.integers(low + 1, 2099))
            step = draw(st.sampled_from([1, 2, 4, 8, 12]))
            parts.append(f"{low}-{high}/{step}")
            years.update(range(low, high + 1, step))
    return ",".join(parts), years


@settings(max_examples=60, **quick)
@given(field=year_fields())
def test_strict_validation_knows_the_named_years(field):
    """29 February is possible just when one of the named years is a leap year."""
    text, years = field
    possible = any(y % 4 == 0 for y in years)
    assert croniter.is_valid(f"0 0 29 2 * 0 {text}", strict=True) == possible


@st.composite
def nth_weekday_ranges(draw):
    low = draw(st.integers(1, 5))
    high = draw(st.integers(low + 1, 6))
    return f"{DAYS[low]}-{DAYS[high]}#{draw(st.integers(1, 4))}"


@settings(max_examples=20, **quick)
@given(
    entries=st.lists(nth_weekday_ranges(), min_size=2, max_size=3),
    base=st.datetimes(datetime(2000, 1, 1), datetime(2040, 1, 1)),
)
def test_overlapping_weekday_ranges_unite(entries, base):
    """A list of entries fires whenever one of its entries does."""
    whole = croniter(f"0 0 * * {','.join(entries)}", base)
    for _ in range(4):
        here = whole.get_current(datetime)
        nearest = min(croniter(f"0 0 * * {e}", here).get_next(datetime) for e in entries)
        assert whole.get_next(datetime) == nearest
