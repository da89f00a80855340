# pbtbench canary pbtbench-8cd0d1aa-85ad-4d9a-ac54-2c04090d0f11 — benchmark data must not appear in training corpora
"""Properties of netaddr 1.3.0 for NADR-001."""

from hypothesis import Phase, given, settings, strategies as st
from netaddr import IPAddress, IPNetwork, IPRange, IPSet

fast = settings(max_examples=60, deadline=None, phases=(Phase.explicit, Phase.generate))

V4_BASE = int(IPAddress('198.51.100.0'))
V6_BASE = int(IPAddress('2001:db8::40'))


def network(version, offset, host_width):
    """A network of 2**host_width addresses, host bits kept, in a narrow space."""
    base, width = (V4_BASE, 32) if version == 4 else (V6_BASE, 128)
    return IPNetwork((base + offset, width - host_width), version=version)


crowded = st.builds(
    network,
    st.sampled_from([4, 6]),
    st.integers(0, 31),
    st.integers(0, 5),
)


# --- bug_1: set elements that merge stay within the set that merged them


def halves(version, host_width, position):
    """The two networks that a set replaces by one, without host bits."""
    return [network(version, (2 * position + half) << host_width, host_width) for half in (0, 1)]


@fast
@given(
    pair=st.builds(halves, st.sampled_from([4, 6]), st.integers(0, 3), st.integers(0, 1)),
    others=st.lists(crowded, max_size=3),
    data=st.data(),
)
def test_a_network_added_to_a_set_stays_the_same_network(pair, others, data):
    members = data.draw(st.permutations([*pair, *others]))
    before = [(member.version, member.value, member.prefixlen) for member in members]
    ip_set = IPSet()
    for member in members:
        ip_set.add(member)
    after = [(member.version, member.value, member.prefixlen) for member in members]
    assert after == before
    assert all(member in ip_set for member in members)


# --- bug_2: in sorted order a network stands before all that lies within it


@fast
@given(networks=st.lists(crowded, min_size=2, max_size=6))
def test_sorting_puts_the_larger_of_two_overlapping_networks_first(networks):
    ordered = sorted(networks)
    for position, earlier in enumerate(ordered):
        for later in ordered[position + 1 :]:
            assert earlier.version <= later.version
            if later.first <= earlier.last and earlier.version == later.version:
                assert earlier.prefixlen <= later.prefixlen


# --- bug_3: a network lies in a range when each of its addresses does


@fast
@given(
    version=st.sampled_from([4, 6]),
    bounds=st.tuples(st.integers(0, 63), st.integers(0, 63)).map(sorted),
    offset=st.integers(0, 31),
    host_width=st.integers(0, 5),
)
def test_a_network_is_in_a_range_when_all_its_addresses_are(
    version, bounds, offset, host_width
):
    base = V4_BASE if version == 4 else V6_BASE
    start, end = (IPAddress(base + bound, version) for bound in bounds)
    block = network(version, offset, host_width)
    addresses = IPRange(start, end)
    assert (block in addresses) == all(address in addresses for address in block)
