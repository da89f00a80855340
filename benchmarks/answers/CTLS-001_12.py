"""Twelve ordinary property tests of cachetools, as a capable tester would write them first."""

import cachetools
from cachetools import FIFOCache, LFUCache, LRUCache, RRCache, TLRUCache, TTLCache, cached, keys
from hypothesis import given, settings
from hypothesis import strategies as st

operations = st.lists(
    st.tuples(st.sampled_from(["set", "get", "del"]), st.integers(0, 8), st.integers(0, 5)), max_size=40
)
sizes = st.integers(1, 6)


def apply(cache, ops):
    for name, key, value in ops:
        if name == "set":
            cache[key] = value
        elif name == "get":
            cache.get(key)
        else:
            cache.pop(key, None)


class Clock:
    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([FIFOCache, LFUCache, LRUCache, RRCache]), sizes, operations)
def test_size_never_exceeds_maximum(kind, size, ops):
    cache = kind(size)
    for op in ops:
        apply(cache, [op])
        assert cache.currsize <= cache.maxsize
        assert cache.currsize == len(cache)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([FIFOCache, LFUCache, LRUCache, RRCache]), st.integers(1, 12), st.lists(st.integers(1, 12)))
def test_weighted_size_is_the_sum_of_values(kind, size, values):
    cache = kind(size, getsizeof=lambda value: value)
    for key, value in enumerate(values):
        try:
            cache[key] = value
        except ValueError:
            assert value > size
        assert cache.currsize == sum(cache.values())
        assert cache.currsize <= size


@settings(max_examples=200, deadline=None)
@given(sizes, operations)
def test_lru_matches_a_model(size, ops):
    cache, model = LRUCache(size), {}
    for name, key, value in ops:
        if name == "set":
            cache[key] = value
            model.pop(key, None)
            if len(model) == size:
                del model[next(iter(model))]
            model[key] = value
        elif name == "get":
            assert cache.get(key) == model.get(key)
            if key in model:
                model[key] = model.pop(key)
        else:
            assert cache.pop(key, None) == model.pop(key, None)
    assert dict(cache.items()) == model


@settings(max_examples=200, deadline=None)
@given(sizes, operations)
def test_fifo_evicts_the_oldest(size, ops):
    cache, model = FIFOCache(size), {}
    for name, key, value in ops:
        if name == "set":
            cache[key] = value
            if key in model:
                del model[key]
            elif len(model) == size:
                del model[next(iter(model))]
            model[key] = value
        elif name == "get":
            assert cache.get(key) == model.get(key)
        else:
            assert cache.pop(key, None) == model.pop(key, None)
    assert dict(cache.items()) == model


@settings(max_examples=200, deadline=None)
@given(sizes, operations)
def test_lfu_keeps_what_was_set_last(size, ops):
    cache = LFUCache(size)
    for op in ops:
        apply(cache, [op])
        if op[0] == "set":
            assert cache[op[1]] == op[2]


@settings(max_examples=200, deadline=None)
@given(sizes, st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3))))
def test_ttl_items_expire_on_time(size, steps):
    clock = Clock()
    cache = TTLCache(size, ttl=3, timer=clock)
    for key, delay in steps:
        cache[key] = clock.now
        clock.now += delay
        for held in list(cache):
            assert clock.now - cache[held] < 3


@settings(max_examples=200, deadline=None)
@given(sizes, st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5), st.integers(0, 3))))
def test_tlru_items_live_as_long_as_they_say(size, steps):
    clock = Clock()
    cache = TLRUCache(size, ttu=lambda _key, value, now: now + value[1], timer=clock)
    for key, life, delay in steps:
        cache[key] = (clock.now, life)
        clock.now += delay
        for held in list(cache):
            start, length = cache[held]
            assert clock.now < start + length


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers()), st.dictionaries(st.text("abc", min_size=1), st.integers()))
def test_hashkey_is_equal_for_equal_arguments(args, kwargs):
    assert keys.hashkey(*args, **kwargs) == keys.hashkey(*args, **dict(reversed(kwargs.items())))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers() | st.booleans() | st.floats(allow_nan=False)), st.dictionaries(st.text("abc", min_size=1), st.integers() | st.floats(allow_nan=False)))
def test_typedkey_does_not_depend_on_keyword_order(args, kwargs):
    assert keys.typedkey(*args, **kwargs) == keys.typedkey(*args, **dict(reversed(kwargs.items())))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 5)))
def test_cached_function_is_called_once_per_argument(arguments):
    calls = []

    @cached({})
    def double(x):
        calls.append(x)
        return 2 * x

    for argument in arguments:
        assert double(argument) == 2 * argument
    assert len(calls) == len(set(arguments))


@settings(max_examples=200, deadline=None)
@given(sizes, operations)
def test_setdefault_and_get_agree(size, ops):
    cache = LRUCache(size)
    apply(cache, ops)
    for key in range(9):
        assert cache.setdefault(key, key) == cache[key]


@settings(max_examples=200, deadline=None)
@given(sizes, operations)
def test_popitem_empties_the_cache(size, ops):
    cache = cachetools.LRUCache(size)
    apply(cache, ops)
    items, seen = dict(cache.items()), {}
    while cache:
        key, value = cache.popitem()
        seen[key] = value
    assert seen == items
