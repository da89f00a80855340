# pbtbench canary pbtbench-8cd0d1aa-85ad-4d9a-ac54-2c04090d0f11 — benchmark data must not appear in training corpora
import h11
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

relaxed = settings(deadline=None, max_examples=40, phases=[Phase.generate])


def events_of(conn):
    out = []
    while True:
        event = conn.next_event()
        if event is h11.NEED_DATA or event is h11.PAUSED:
            return out
        out.append(event)


# --- a start_next_cycle() that is refused leaves no trace -------------------

cycles = st.lists(
    st.fixed_dictionaries(
        {
            "method": st.sampled_from(["GET", "HEAD", "POST", "HEAD", "DELETE"]),
            "status": st.sampled_from([200, 201, 404, 500]),
            "upload": st.binary(max_size=5),
            "body": st.binary(min_size=1, max_size=5),
            "sized": st.booleans(),
            "early": st.sets(
                st.sampled_from(["request", "upload", "end", "response"]), max_size=4
            ),
        }
    ),
    min_size=1,
    max_size=3,
)


def run_conversation(plan, probing):
    client, server = h11.Connection(h11.CLIENT), h11.Connection(h11.SERVER)
    log = []

    def move(src, dst, event):
        data = src.send(event)
        log.append(data)
        if data:
            dst.receive_data(data)
        for got in events_of(dst):
            payload = bytes(got.data) if type(got) is h11.Data else None
            log.append((type(got).__name__, payload))
        log.append((client.states, server.states))

    def probe(step, when):
        if probing and step in when:
            for conn in (client, server):
                with pytest.raises(h11.LocalProtocolError):
                    conn.start_next_cycle()

    for cycle in plan:
        size = str(len(cycle["upload"]))
        move(
            client,
            server,
            h11.Request(
                method=cycle["method"],
                target="/",
                headers=[("host", "a"), ("content-length", size)],
            ),
        )
        probe("request", cycle["early"])
        if cycle["upload"]:
            move(client, server, h11.Data(data=cycle["upload"]))
        probe("upload", cycle["early"])
        move(client, server, h11.EndOfMessage())
        probe("end", cycle["early"])
        sized = [("content-length", str(len(cycle["body"])))] if cycle["sized"] else []
        move(server, client, h11.Response(status_code=cycle["status"], headers=sized))
        if cycle["method"] != "HEAD":
            probe("response", cycle["early"])
            move(server, client, h11.Data(data=cycle["body"]))
        move(server, client, h11.EndOfMessage())
        log.append((client.states, server.states))
        client.start_next_cycle()
        server.start_next_cycle()
    return log


@relaxed
@given(cycles)
def test_refused_reuse_changes_nothing(plan):
    assert run_conversation(plan, True) == run_conversation(plan, False)


# --- who still waits for "100 Continue" ------------------------------------


@settings(relaxed, max_examples=60)
@given(
    method=st.sampled_from(["PUT", "CONNECT"]),
    expect=st.sampled_from([True, True, True, False]),
    upgrade=st.sampled_from([True, True, False]),
    steps=st.lists(
        st.sampled_from(["switch", "answer", "interim", "upload"]),
        min_size=1,
        max_size=3,
    ),
    status=st.sampled_from([200, 204, 403, 417]),
    interim=st.sampled_from([100, 102, 103]),
)
def test_waiting_ends_with_any_answer(method, expect, upgrade, steps, status, interim):
    client, server = h11.Connection(h11.CLIENT), h11.Connection(h11.SERVER)

    def move(src, dst, event):
        dst.receive_data(src.send(event))
        events_of(dst)

    def check(waiting):
        assert client.client_is_waiting_for_100_continue is waiting
        assert server.client_is_waiting_for_100_continue is waiting
        assert server.they_are_waiting_for_100_continue is waiting
        assert client.they_are_waiting_for_100_continue is False

    headers = [("host", "a"), ("content-length", "9")]
    if expect:
        headers.append(("expect", "100-continue"))
    if upgrade:
        headers.append(("upgrade", "websocket"))
    check(False)
    move(client, server, h11.Request(method=method, target="a:1", headers=headers))
    check(expect)
    for step in steps:
        if step == "upload":
            move(client, server, h11.Data(data=b"x"))
        elif step == "interim":
            move(
                server,
                client,
                h11.InformationalResponse(status_code=interim, headers=[]),
            )
        elif step == "switch":
            if not upgrade:
                continue
            move(server, client, h11.InformationalResponse(status_code=101, headers=[]))
        else:
            move(server, client, h11.Response(status_code=status, headers=[]))
        check(False)
        if step in ("switch", "answer"):
            break


# --- the limit on what is buffered of an unfinished event -------------------


@relaxed
@given(
    role=st.sampled_from([h11.CLIENT, h11.SERVER]),
    limit=st.integers(40, 300),
    part=st.sampled_from(["head", "chunk header", "trailer"]),
    excess=st.integers(-30, 60),
    cuts=st.lists(st.integers(0, 360), max_size=3),
)
def test_unfinished_event_is_bounded(role, limit, part, excess, cuts):
    conn = h11.Connection(role, max_incomplete_event_size=limit)
    if role is h11.CLIENT:
        conn.send(h11.Request(method="GET", target="/", headers=[("host", "a")]))
        conn.send(h11.EndOfMessage())
        head = b"HTTP/1.1 200 OK\r\n"
    else:
        head = b"POST / HTTP/1.1\r\nHost: a\r\n"
    if part == "head":
        pending = head + b"x: "
    else:
        conn.receive_data(head + b"transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n")
        events_of(conn)
        if part == "trailer":
            conn.receive_data(b"0\r\n")
            events_of(conn)
            pending = b"x: "
        else:
            pending = b"5;"
    pending = pending.ljust(limit + excess, b"y")
    edges = sorted({min(cut, len(pending)) for cut in cuts} | {len(pending)} - {0})
    start = 0
    for end in edges:
        if end == start:
            continue
        conn.receive_data(pending[start:end])
        start = end
        if end > limit:
            with pytest.raises(h11.RemoteProtocolError):
                conn.next_event()
            return
        assert conn.next_event() is h11.NEED_DATA


# --- spelling of header names on the wire -----------------------------------

FRAMING = {"connection", "transfer-encoding", "content-length", "host"}
fields = st.lists(
    st.tuples(
        st.text("aBcDxY9-", min_size=1, max_size=5),
        st.sampled_from(["", "v", "Some Value", "1"]),
    ),
    max_size=3,
)


@relaxed
@given(
    fields=fields,
    version=st.sampled_from([b"1.0", b"1.1"]),
    closing=st.booleans(),
    framing=st.sampled_from(["none", "chunked", "length"]),
    status=st.sampled_from([200, 304, 404]),
)
def test_header_names_keep_their_case(fields, version, closing, framing, status):
    conn = h11.Connection(h11.SERVER)
    extra = b"Connection: close\r\n" if closing else b""
    conn.receive_data(b"GET / HTTP/" + version + b"\r\nHost: a\r\n" + extra + b"\r\n")
    events_of(conn)
    headers = list(fields)
    if framing == "chunked":
        headers.append(("Transfer-Encoding", "chunked"))
    elif framing == "length":
        headers.append(("Content-Length", "3"))
    sent = conn.send(h11.Response(status_code=status, headers=headers))
    lines = bytes(sent).decode("ascii").split("\r\n")[1:-2]
    pairs = [tuple(line.split(": ", 1)) for line in lines]
    assert [pair for pair in pairs if pair[0].lower() not in FRAMING] == fields
