"""Limits on the rate of requests, on how many are worked on at once, and on the size of their bodies."""

import asyncio
import http.client
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi.testclient import TestClient
from listening import listening

from erkle.service import Configuration
from erkle.service.configuration import Rate
from erkle.service.web.limits import Buckets, rate_of
from erkle.service.web.middleware import admission, turns
from erkle.service.web.middleware.bodies import is_upload
from erkle.service.web.middleware.turns import InTurn, Turns
from erkle.service.web.pages import STATIC
from people import PASSWORD, reason

SLOW = 1 / 3600
RESUME = {"participant": "somebody"}


def run(coroutine):
    """Run a coroutine in a thread, because browser tests keep an event loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


@pytest.fixture
def configuration(data_folder):
    return Configuration(
        data=data_folder,
        body_bytes=10_000,
        upload_bytes=50_000,
        trusted_proxies=["10.0.0.0/8"],
        login_rate=Rate(per_second=SLOW, burst=3),
        login_name_rate=Rate(per_second=SLOW, burst=6),
        login_address_rate=Rate(per_second=SLOW, burst=12),
        join_rate=Rate(per_second=SLOW, burst=2),
        answer_rate=Rate(per_second=SLOW, burst=3),
        answer_address_rate=Rate(per_second=SLOW, burst=5),
    )


def coming_from(client, address):
    """A client behind a trusted proxy."""
    return TestClient(client.app, client=("10.0.0.1", 1234), headers={"X-Forwarded-For": address})


def guess(client, name="ann", password="not the password"):
    return client.post("/api/login", json={"name": name, "password": password}).status_code


def test_a_bucket_allows_a_burst_and_then_its_rate():
    now = [0.0]
    buckets = Buckets(Rate(per_second=2, burst=3), clock=lambda: now[0])
    assert [buckets.wait("a") for _ in range(5)] == [0, 0, 0, 0.5, 0.5]
    now[0] = 0.5
    assert [buckets.wait("a") for _ in range(2)] == [0, 0.5]
    now[0] = 1000.0
    assert [buckets.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]


def test_a_larger_key_has_more_tokens_at_the_same_wait():
    now = [0.0]
    buckets = Buckets(Rate(per_second=2, burst=3), clock=lambda: now[0])
    assert [buckets.wait("a", 2) for _ in range(8)] == [0] * 6 + [0.25] * 2


def test_the_number_of_buckets_is_limited():
    buckets = Buckets(Rate(per_second=1, burst=1), most=100)
    for key in range(10_000):
        buckets.wait(key)
    assert len(buckets) == 100


def test_many_threads_together_get_no_more_than_the_burst():
    buckets, got = Buckets(Rate(per_second=SLOW, burst=50)), []
    threads = [threading.Thread(target=lambda: got.extend(buckets.wait("a") == 0 for _ in range(50))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(got) == 50


def test_after_too_many_wrong_passwords_the_right_one_is_refused_as_well(client, store, kept_password):
    store.accounts.create("ann", kept_password)
    assert [guess(client) for _ in range(4)] == [401, 401, 401, 429]
    answer = client.post("/api/login", json={"name": " ANN", "password": PASSWORD})
    assert (answer.status_code, reason(answer)) == (429, "too-often")
    assert int(answer.headers["retry-after"]) > 3000
    assert "set-cookie" not in answer.headers


def test_long_names_take_up_little_memory(client):
    # U+FDFA becomes 18 letters.
    assert guess(client, "\ufdfa" * 200) == 401
    assert max(len(name) for _, name in client.app.state.buckets["login_rate"]._full) == 200


def test_spellings_of_one_name_share_a_limit(client):
    names = ["ann", "\uff21\uff2e\uff2e", "\uff41nn", "a\ufe0fnn"]
    assert [guess(client, name) for name in names] == [401, 401, 401, 429]


def test_guesses_from_one_address_do_not_lock_the_owner_out(client, store, kept_password):
    store.accounts.create("ann", kept_password)
    while guess(client) != 429:
        pass
    assert guess(coming_from(client, "192.0.2.7"), password=PASSWORD) == 200


def test_guesses_from_many_addresses_are_limited(client):
    guesses = [guess(coming_from(client, f"192.0.2.{i}")) for i in range(8)]
    assert guesses == [401] * 6 + [429] * 2


def test_guesses_of_many_names_from_one_address_are_limited(client):
    assert [guess(client, f"name{i}") for i in range(13)].count(429) == 1


def test_an_ipv6_network_counts_as_one_address(client):
    guesses = [guess(coming_from(client, f"2001:db8:1:2::{i:x}"), f"name{i}") for i in range(13)]
    assert guesses.count(429) == 1
    assert guess(coming_from(client, "2001:db8:1:3::1")) == 401


def test_the_networks_of_one_ipv6_site_share_a_larger_limit(client):
    guesses = [guess(coming_from(client, f"2001:db8:1:{i:x}::1"), f"name{i}") for i in range(98)]
    assert guesses == [401] * 96 + [429] * 2
    assert guess(coming_from(client, "2001:db8:2:1::1")) == 401


def test_one_ipv6_site_does_not_lock_the_owner_out(client):
    with TestClient(client.app) as client:
        client.app.state.buckets["login_name_rate"] = Buckets(Rate(per_second=SLOW, burst=30))
        guesses = [guess(coming_from(client, f"2001:db8:1:{i:x}::1")) for i in range(26)]
        assert guesses == [401] * 24 + [429] * 2
        assert guess(coming_from(client, "192.0.2.7")) == 401


def test_guessing_links_is_limited(client):
    codes = [client.post("/api/enter", json={"token": f"{i:043}"}).status_code for i in range(13)]
    assert codes == [409] * 12 + [429]


def test_the_header_of_an_untrusted_proxy_is_ignored(client):
    guesses = [
        client.post(
            "/api/login", json={"name": "ann", "password": "x"}, headers={"X-Forwarded-For": f"192.0.2.{i}"}
        ).status_code
        for i in range(4)
    ]
    assert guesses == [401, 401, 401, 429]


def test_addresses_before_the_one_that_the_proxy_added_are_ignored(client):
    guesses = [guess(coming_from(client, f"198.51.100.{i}, 192.0.2.1, 10.0.0.2")) for i in range(4)]
    assert guesses == [401, 401, 401, 429]


def test_the_port_in_a_proxys_header_does_not_matter(client):
    assert [guess(coming_from(client, f"192.0.2.1:{i}")) for i in range(4)] == [401, 401, 401, 429]
    assert [guess(coming_from(client, f"[2001:db8::1]:{i}"), "bob") for i in range(4)] == [401, 401, 401, 429]


def test_joining_is_limited_for_each_address(client, study):
    def join(who):
        return who.post(f"/api/take/{study}/join", json={"parameters": {}, "consent": True}).status_code

    assert [join(client) for _ in range(3)] == [200, 200, 429]
    assert join(coming_from(client, "192.0.2.9")) == 200


def test_answering_is_limited_for_each_participant_and_each_address(client, study):
    def resume(participant, who=client):
        return who.post(f"/api/take/{study}/resume", json={"participant": participant}).status_code

    assert [resume("abc") for _ in range(4)] == [404, 404, 404, 429]
    assert [resume("abd"), resume("abe")] == [404, 429]
    assert resume("abf", coming_from(client, "192.0.2.9")) == 404


def sent_directly(client, path, receive, headers=()):
    """Call the application, because the test client reads a body to its end before it sends it."""
    sent = []

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"testserver"), (b"content-type", b"application/json"), *headers]
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
    client.portal.call(client.app, {**scope, "client": ("127.0.0.1", 1), "scheme": "http"}, receive, send)
    return sent[0]["status"]


def endless(read, size=1000):
    """Bodies that never end, in pieces; ``read`` gets the size of each piece that is read."""

    async def receive():
        read.append(size)
        return {"type": "http.request", "body": b"x" * size, "more_body": True}

    return receive


@pytest.mark.parametrize("path", ["/api/login", "/api/setup", "/api/take/abc/join", "/api/take/abc/answer"])
def test_an_address_over_its_limit_is_refused_before_its_body_is_read(client, path):
    read = []
    statuses = [sent_directly(client, path, endless(read)) for _ in range(13)]
    first = statuses.index(429)
    assert statuses == [413] * first + [429] * (13 - first)
    assert sum(read) == first * 11_000


def test_a_request_above_the_rate_waits_before_it_is_refused(client, monkeypatch):
    monkeypatch.setattr(admission, "PAUSE", 0.2)
    client.app.state.buckets["request_rate"] = Buckets(Rate(per_second=SLOW, burst=1))
    assert client.get("/login").status_code == 200
    # The limits of an address and of a participant.
    assert [client.post("/api/take/a/resume", json=RESUME).status_code for _ in range(3)] == [404] * 3
    for again in (lambda: client.get("/login"), lambda: client.post("/api/take/a/resume", json=RESUME)):
        began = time.monotonic()
        assert again().status_code == 429
        assert time.monotonic() - began >= 0.2


def test_a_path_that_ends_with_a_newline_has_the_limit_of_its_route():
    assert rate_of("POST", "/api/take/abc/join\n") == "join_rate"


def test_at_most_so_many_requests_of_one_address_are_worked_on_at_once():
    turns, now, most, order = Turns(3), [0], [0], []

    async def work(key, number):
        async with turns.turn(key):
            now[0] += 1
            most[0] = max(most)
            most.append(now[0])
            await asyncio.sleep(0)
            now[0] -= 1
            order.append(number)

    async def all_work():
        await asyncio.gather(*(work("a", number) for number in range(20)))
        assert (max(most), order) == (3, list(range(20)))
        await asyncio.gather(*(work(key, 0) for key in "abcdef"))

    run(all_work())
    assert max(most) == 6
    assert len(turns) == 0


def test_requests_that_never_wait_let_other_people_in_between():
    """A thousand requests of one address that need no thread are not served in one go."""

    async def work():
        turns, served = Turns(4), []

        async def serve(key):
            async with turns.turn(key):
                served.append(key)

        async with asyncio.TaskGroup() as tasks:
            for key in ["attacker"] * 1000 + ["somebody else"]:
                tasks.create_task(serve(key))
        return served

    assert run(work()).index("somebody else") < 10


async def whole_body():
    return {"type": "http.request", "body": b"{}", "more_body": False}


def test_participants_pages_and_monitoring_do_not_wait_for_each_other():
    requests = [("POST", "/api/take/x/answer"), ("GET", "/login"), ("GET", "/health")]

    async def work():
        started, end = [], asyncio.Event()

        async def app(scope, receive, send):
            started.append(scope["path"])
            await end.wait()

        in_turn = InTurn(app)
        async with asyncio.TaskGroup() as tasks:
            for method, path in requests * 9:
                tasks.create_task(in_turn({"type": "http", "method": method, "path": path}, whole_body, None))
            await asyncio.sleep(0.05)
            at_once = [*started]
            end.set()
        return at_once

    at_once = run(work())
    assert [at_once.count(path) for _, path in requests] == [8, 1, 1]


@pytest.mark.parametrize(("n_requests", "n_served"), [(20, 20), (40, 1)])
def test_only_an_address_that_sends_faster_than_it_is_served_rests_between_its_turns(n_requests, n_served, monkeypatch):
    """A page with twenty files does not."""
    monkeypatch.setattr(turns, "_REST", 1000.0)

    async def work():
        served = []

        async def app(scope, receive, send):
            served.append(scope["path"])

        in_turn = InTurn(app)
        scope = {"type": "http", "method": "GET", "path": "/login"}
        tasks = [asyncio.create_task(in_turn(scope, whole_body, None)) for _ in range(n_requests)]
        await asyncio.wait(tasks, timeout=0.5)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return len(served)

    assert run(work()) == n_served


def test_large_bodies_of_one_address_are_worked_on_one_at_a_time():
    async def receive():
        return {"type": "http.request", "body": b" " * 40_000, "more_body": False}

    async def work():
        at_once, most = 0, []

        async def app(scope, receive, send):
            nonlocal at_once
            at_once += 1
            await asyncio.sleep(0.001)
            most.append(at_once)
            at_once -= 1

        in_turn = InTurn(app)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(5):
                tasks.create_task(in_turn({"type": "http", "method": "POST", "path": "/api/studies"}, receive, None))
        return most

    assert run(work()) == [1] * 5


def test_whoever_stops_waiting_gives_up_their_turn():
    turns = Turns(1)

    async def hold():
        async with turns.turn("a"):
            await asyncio.sleep(60)

    async def work():
        tasks = [asyncio.create_task(hold()) for _ in range(3)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        async with turns.turn("a"):
            return True

    assert run(work())
    assert len(turns) == 0


def test_a_client_that_reads_slowly_does_not_keep_others_of_its_address_waiting(client):
    responded = []

    async def respond(scope, receive, send):
        responded.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": []})

    in_turn = InTurn(respond)

    async def send_for_ever(message):
        await asyncio.sleep(60)

    async def work():
        scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": [], "app": client.app}
        slow = [asyncio.create_task(in_turn(scope, None, send_for_ever)) for _ in range(20)]
        await asyncio.sleep(0.1)
        assert len(responded) == 20
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)

    run(work())


def test_a_client_that_sends_slowly_does_not_keep_others_of_its_address_waiting(client):
    worked_on = []

    async def read(scope, receive, send):
        worked_on.append(await receive())

    async def receive_for_ever():
        await asyncio.sleep(60)

    async def receive():
        return pieces.pop()

    in_turn = InTurn(read)
    pieces = [{"type": "http.request", "body": b, "more_body": b != b"c"} for b in (b"c", b"b", b"a")]

    async def work():
        scope = {"type": "http", "method": "POST", "path": "/", "headers": []}
        slow = [asyncio.create_task(in_turn(scope, receive_for_ever, None)) for _ in range(20)]
        await asyncio.sleep(0.01)
        await in_turn(scope, receive, None)
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)

    run(work())
    assert worked_on == [{"type": "http.request", "body": b"abc", "more_body": False}]


def test_thousands_of_parameters_are_refused(client):
    answer = client.get("/s/abc?" + "a=&" * 500)
    assert (answer.status_code, reason(answer)) == (400, "too-many-parameters")
    assert client.get("/s/abc?" + "a=&" * 100).status_code == 200


def big(size):
    return b'{"name": "ann", "password": "' + b"x" * size + b'"}'


JSON = {"Content-Type": "application/json"}


def test_a_body_that_is_too_large_is_refused_by_its_length(client):
    answer = client.post("/api/login", content=big(10_000), headers=JSON)
    assert (answer.status_code, reason(answer)) == (413, "too-large")


@pytest.mark.parametrize("length", ["-1", "1e3", "9" * 30, "+5", "1_0"])
def test_an_invalid_content_length_is_refused(client, length):
    answer = client.post("/api/login", content=big(5), headers={**JSON, "Content-Length": length})
    assert answer.status_code == 413


def test_a_large_body_without_a_length_is_refused_before_its_end(client):
    read = []
    assert sent_directly(client, "/api/login", endless(read)) == 413
    assert sum(read) == 11_000


def test_a_body_below_the_limit_is_read(client):
    answer = client.post("/api/login", content=big(9000), headers=JSON)
    assert answer.status_code == 422


def files(size):
    return {"file": ("answers.csv", b"x" * size, "text/csv")}


def test_only_a_signed_in_researcher_may_send_large_files(client, researcher):
    assert client.post("/api/import", files=files(20_000)).status_code == 401
    forged = client.post("/api/import", files=files(20_000), headers={"Cookie": "erkle_session=" + "A" * 43})
    assert forged.status_code == 401
    assert researcher.post("/api/import", files=files(20_000)).status_code != 413
    assert researcher.post("/api/import", files=files(60_000)).status_code == 413


def test_a_signed_in_researcher_may_not_send_large_json(researcher):
    assert researcher.post("/api/studies", json={"title": "x" * 20_000}).status_code == 413


def test_the_routes_that_accept_files_are_those_of_the_document(client):
    paths = client.get("/openapi.json").json()["paths"]
    routes = {(method, path): operation for path, methods in paths.items() for method, operation in methods.items()}
    files = {
        route
        for route, operation in routes.items()
        if "multipart/form-data" in operation.get("requestBody", {"content": {}})["content"]
    }
    scopes = {route: {"method": route[0].upper(), "path": route[1].replace("{study}", "abc")} for route in routes}
    assert {route for route, scope in scopes.items() if is_upload(scope)} == files


def test_large_bodies_are_accepted_only_where_files_are(researcher, draft):
    for path in ("/api/logout", "/api/invitations", f"/api/studies/{draft}/state", "/api/studies"):
        assert researcher.post(path, files=files(20_000)).status_code == 413


@pytest.mark.parametrize("path", ["/api/studies", "/api/studies/upload", "/api/import", "/api/studies/abc/import"])
def test_researchers_are_recognised_before_a_body_is_read(client, path):
    read = []
    assert sent_directly(client, path, endless(read)) == 401
    assert read == []


@pytest.mark.parametrize(
    "body", [b"[" * 300, b'{"name": ' + b"9" * 5000 + b"}", b"\xff\xfe", b'{"name": "\\ud800"}', b""]
)
def test_an_unreadable_body_is_an_error_of_the_client(client, body):
    answer = client.post("/api/login", content=body, headers=JSON)
    assert answer.status_code in (400, 422)
    assert set(answer.json()["error"]) == {"reason", "sentence"}


def test_a_real_server_counts_the_bytes_that_arrive(configuration):
    """A large body without a length, in pieces: the server responds with 413 and keeps running."""
    with listening(configuration.data, body_bytes=10_000) as site:
        connection = http.client.HTTPConnection(site.url.removeprefix("http://"), timeout=20)
        connection.request("POST", "/api/login", iter([b"x" * 1000] * 11), JSON, encode_chunked=True)
        assert connection.getresponse().status == 413
        connection.close()
        connection.request("GET", "/health")
        assert connection.getresponse().status == 200
        connection.close()


class TestWithTheDefaultLimits:
    @pytest.fixture
    def configuration(self, data_folder):
        return Configuration(data=data_folder)

    def test_whoever_is_not_signed_in_may_send_32_kB(self, client, researcher):
        read = []
        assert sent_directly(client, "/api/login", endless(read)) == 413
        assert sum(read) == 33_000
        assert client.post("/api/login", content=big(32_000), headers=JSON).status_code == 413
        assert researcher.post("/api/login", content=big(32_000), headers=JSON).status_code == 413

    def test_thousands_of_lists_are_refused_before_they_are_parsed(self, client, researcher):
        lists = {"parameters": {"a": [[]] * 1000}, "consent": True}
        for answer in (
            client.post("/api/take/abc/join", json=lists),
            client.post("/api/take/abc/join", content=b"[" * 1001, headers=JSON),
            researcher.post("/api/studies", json={"title": "x", "objects": [[]] * 40_000}),
        ):
            assert (answer.status_code, reason(answer)) == (413, "too-large")

    def test_a_study_may_have_10_000_objects_with_texts(self, researcher):
        objects = [{"name": str(i), "text": "[a](https://a.org)" if i < 1000 else "b"} for i in range(10_000)]
        assert researcher.post("/api/studies", json={"title": "Many", "objects": objects}).status_code == 201

    def test_a_class_of_300_behind_one_address_can_open_the_page_and_see_pictures(self, client):
        per_person = len([*(STATIC / "take").iterdir()]) + 30
        buckets = Buckets(Configuration().request_rate, clock=lambda: 0.0)
        assert max(buckets.wait("a") for _ in range(300 * per_person)) == 0

    def test_a_signed_in_researcher_may_send_more_with_and_without_a_length(self, researcher):
        body = json.dumps({"title": "Many", "objects": [f"a rather long name {i}" for i in range(2000)]}).encode()
        assert len(body) > 33_000
        pieces = (body[start : start + 1000] for start in range(0, len(body), 1000))
        for content in (body, pieces):
            assert researcher.post("/api/studies", content=content, headers=JSON).status_code == 201

    def test_a_body_with_many_errors_gets_few_sentences(self, client, researcher):
        keys = {f"k{i}": 0 for i in range(3000)}
        wrong = [
            client.post("/api/login", json=keys),
            client.post("/api/take/abc/join", json=keys),
            client.post("/api/take/abc/answer", json={**keys, "participant": "a", "token": "b", "choice": 1}),
            researcher.post("/api/studies", json={"title": "x", "objects": [{"x": 1}] * 30_000}),
            researcher.post("/api/studies", json={"title": "x", "objects": [1] * 50_000}),
            researcher.post("/api/studies", json={"title": "x", "objects": ["x"] * 50_000}),
            researcher.post("/api/studies", json={"title": "x", "objects": [keys] * 3}),
        ]
        for answer in wrong:
            assert (answer.status_code, reason(answer)) == (422, "invalid")
            sentence = answer.json()["error"]["sentence"]
            assert len(sentence) < 600
            assert "more." not in sentence

    def test_settings_with_many_errors_get_few_sentences(self, researcher, draft):
        keys = {f"k{i}": 0 for i in range(20_000)}
        catches = [{"anchor": i, "near": i, "wrong": i} for i in range(100)]
        for settings in (keys, {"limits": keys}, {"checks": {"catch": catches}}):
            answer = researcher.patch(f"/api/studies/{draft}", json={"settings": settings})
            assert (answer.status_code, reason(answer)) == (422, "invalid")
            assert len(answer.json()["error"]["sentence"].splitlines()) <= 31
