# pbtbench canary pbtbench-8cd0d1aa-85ad-4d9a-ac54-2c04090d0f11 — benchmark data must not appear in training corpora
"""Properties of SimPy 4.1.2 for SMPY-001."""

from itertools import permutations

import simpy
from hypothesis import Phase, given, settings, strategies as st

# --- bug_1: stopping at an event and resuming leaves the order of effects alone

GATES = 4

visitors = st.lists(
    st.tuples(
        st.sets(st.integers(0, GATES - 1), min_size=1),  # gates it waits for
        st.booleans(),  # starts a helper process behind each gate
    ),
    min_size=3,
    max_size=6,
)


def simulate(plans, stops):
    env = simpy.Environment()
    gates = [env.timeout(number + 1) for number in range(GATES)]
    log = []

    def helper(name, gate):
        log.append(('helper', name, gate, env.now))
        yield env.timeout(0)

    def visitor(name, wanted, hires):
        for gate in wanted:
            yield gates[gate]
            log.append(('visitor', name, gate, env.now))
            if hires:
                env.process(helper(name, gate))

    for name, (wanted, hires) in enumerate(plans):
        env.process(visitor(name, sorted(wanted), hires))
    for gate in sorted(stops):
        env.run(until=gates[gate])
    env.run()
    return log


@settings(max_examples=60, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(plans=visitors, stops=st.sets(st.integers(0, GATES - 1), min_size=1))
def test_stopping_at_events_does_not_change_the_order(plans, stops):
    assert simulate(plans, stops) == simulate(plans, ())


# --- bug_2: an interrupt by preemption names the process that took the slot

def customers(arrival, priority, preempt, use, patience):
    return st.lists(
        st.tuples(
            st.integers(*arrival),
            st.integers(*priority),
            preempt,
            st.integers(*use),
            st.integers(*patience),
        ),
        min_size=2,
        max_size=3,
    )


# Two kinds of flags and three of priorities meet in one queue: guests who hold
# the slots for long, polite ones who wait ahead of all others but not for
# long, and pushy ones who get stuck behind the polite.
crowds = st.tuples(
    customers((0, 2), (0, 2), st.booleans(), (6, 12), (1, 9)),
    customers((1, 4), (-3, -2), st.just(False), (1, 4), (1, 3)),
    customers((2, 5), (-2, 1), st.just(True), (1, 4), (4, 9)),
).map(lambda groups: [plan for group in groups for plan in group])


@settings(max_examples=60, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(capacity=st.integers(1, 2), plans=crowds)
def test_preempted_by_the_process_that_got_the_slot(capacity, plans):
    env = simpy.Environment()
    resource = simpy.PreemptiveResource(env, capacity=capacity)
    requests, preemptions = {}, []

    def customer(arrival, priority, preempt, use, patience):
        yield env.timeout(arrival)
        with resource.request(priority=priority, preempt=preempt) as request:
            requests[env.active_process] = request
            try:
                yield request | env.timeout(patience)
                if request.triggered:
                    yield env.timeout(use)
            except simpy.Interrupt as interrupt:
                preemptions.append((priority, env.now, interrupt.cause))

    for plan in plans:
        env.process(customer(*plan))
    env.run()

    for priority, when, cause in preemptions:
        assert cause.by in requests
        winner = requests[cause.by]
        assert winner.usage_since == when
        assert winner.preempt and winner.priority <= priority


# --- bug_3: a condition's value has every event that has happened, in order

operators = st.sampled_from('|&&')
chains = st.tuples(
    st.sampled_from('|&'),
    st.lists(st.tuples(operators, st.booleans()), min_size=2, max_size=3),
)


@settings(max_examples=40, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(chain=chains)
def test_condition_value_lists_what_has_happened(chain):
    first, rest = chain
    for delays in permutations(range(len(rest) + 2)):
        env = simpy.Environment()

        def join(operator, left, right):
            (event_a, due_a, leaves_a), (event_b, due_b, leaves_b) = left, right
            if operator == '&':
                return event_a & event_b, max(due_a, due_b), leaves_a + leaves_b
            return event_a | event_b, min(due_a, due_b), leaves_a + leaves_b

        parts = []
        for delay in delays:
            timeout = env.timeout(delay, value=-delay)
            parts.append((timeout, delay, [(timeout, delay)]))
        whole = join(first, parts[0], parts[1])
        for (operator, mirrored), part in zip(rest, parts[2:]):
            whole = join(operator, *((part, whole) if mirrored else (whole, part)))

        condition, due, leaves = whole
        value = env.run(until=condition)
        assert env.now == due
        assert list(value.items()) == [
            (event, -delay) for event, delay in leaves if delay <= due
        ]
