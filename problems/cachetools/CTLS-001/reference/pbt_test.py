# pbtbench canary pbtbench-8cd0d1aa-85ad-4d9a-ac54-2c04090d0f11 — benchmark data must not appear in training corpora
from hypothesis import given, settings, strategies as st

from cachetools import FIFOCache, LFUCache, LRUCache, RRCache, TLRUCache
from cachetools.keys import typedkey, typedmethodkey


# bug_1 ---------------------------------------------------------------------
# A cache never grows beyond its maximum size, also when that size is not a
# whole number of items.


@settings(max_examples=50, deadline=None)
@given(
    cls=st.sampled_from([FIFOCache, LFUCache, LRUCache, RRCache]),
    maxsize=st.integers(4, 40).map(lambda quarters: quarters / 4),
    count=st.integers(11, 14),
)
def test_item_count_stays_within_the_maximum_size(cls, maxsize, count):
    cache = cls(maxsize)
    for key in range(count):
        cache[key] = key
        assert key in cache
        assert cache.currsize == len(cache)
        assert cache.currsize <= cache.maxsize
    # room is made for one more item only when it would not fit otherwise
    assert len(cache) + 1 > maxsize


# bug_2 ---------------------------------------------------------------------
# Typed keys: the same names with arguments of other types are other keys.

SAME = st.sampled_from([(1, 1.0, True), (0, 0.0, False), (7, 7.0, complex(7))])


@st.composite
def keyword_calls(draw):
    """Two sets of keyword arguments that compare equal, passed in any order."""
    values = draw(SAME)
    names = draw(st.lists(st.sampled_from("abc"), min_size=2, max_size=2, unique=True))
    drawn = draw(
        st.lists(st.sampled_from(values), min_size=len(names), max_size=len(names))
    )
    first = dict(zip(names, drawn))
    second = dict(zip(draw(st.permutations(names)), draw(st.permutations(drawn))))
    return first, second


@settings(max_examples=100, deadline=None)
@given(calls=keyword_calls(), args=st.lists(st.integers(0, 2), max_size=2))
def test_typed_keys_tell_argument_types_apart(calls, args):
    first, second = calls
    if any(type(first[name]) is not type(second[name]) for name in first):
        assert typedkey(*args, **first) != typedkey(*args, **second)
        assert typedmethodkey(None, *args, **first) != typedmethodkey(
            None, *args, **second
        )


# bug_3 ---------------------------------------------------------------------
# FIFO order is the order of successful insertions: what was refused with
# ValueError has not been inserted.


@settings(max_examples=100, deadline=None)
@given(
    maxsize=st.integers(4, 8),
    steps=st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(1, 3) | st.integers(9, 12)),
        min_size=4,
        max_size=9,
    ),
)
def test_fifo_order_of_what_was_really_inserted(maxsize, steps):
    cache = FIFOCache(maxsize, getsizeof=lambda size: size)
    model = {}  # oldest first
    for key, size in steps:
        try:
            cache[key] = size
        except ValueError:
            assert size > maxsize
        else:
            assert size <= maxsize
            model.pop(key, None)
            while sum(model.values()) + size > maxsize:
                del model[next(iter(model))]
            model[key] = size
        assert cache.currsize == sum(model.values())
    assert [cache.popitem() for _ in range(len(cache))] == list(model.items())


# bug_4 ---------------------------------------------------------------------
# Every item that was stored leaves in exactly one way: replaced while still
# alive, evicted with popitem(), or returned by expire().


class Clock:
    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now


class Tracking(TLRUCache):
    def __init__(self, maxsize, ttu, timer):
        super().__init__(maxsize, ttu, timer)
        self.evicted = []
        self.expired = []

    def popitem(self):
        item = super().popitem()
        self.evicted.append(item)
        return item

    def expire(self, time=None):
        items = super().expire(time)
        self.expired.extend(items)
        return items


@settings(max_examples=100, deadline=None)
@given(
    maxsize=st.integers(2, 4),
    steps=st.lists(
        st.tuples(
            st.integers(0, 3),  # time that passes
            st.sampled_from("ab"),
            st.integers(-1, 3),  # time to use, perhaps over already
        ),
        min_size=4,
        max_size=9,
    ),
)
def test_tlru_items_that_expired_are_reported(maxsize, steps):
    clock = Clock()
    cache = Tracking(maxsize, lambda key, value, now: now + value[1], clock)
    stored, replaced, current = [], [], {}
    for serial, (passes, key, use) in enumerate(steps):
        clock.now += passes
        value = (serial, use)  # unique
        if key in cache:
            replaced.append((key, current[key]))
        cache[key] = value
        if use > 0:
            assert key in cache
            stored.append((key, value))
            current[key] = value
        else:
            assert key not in cache
    clock.now += 10
    cache.expire()
    assert len(cache) == 0
    assert sorted(replaced + cache.evicted + cache.expired) == sorted(stored)
