"""A real server on a loopback port: ranges, conditions, the catalogue, and everything that it must refuse."""

from __future__ import annotations

import http.client
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

import kinepack
from kinepack.samples import fish, human

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

from kinepack.serve import Running, ServeSettings

SECRET = b"not for the world"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outside = tmp_path_factory.mktemp("outside")
    root = outside / "root"
    (root / "sub").mkdir(parents=True)
    clip = human().slice(0, 120)
    (root / "walk.kine").write_bytes(kinepack.compress(clip, "delta-lzma:segment_s=0.25"))
    (root / "sub" / "fish 1.kine").write_bytes(kinepack.compress(fish().slice(0, 4), "raw"))
    (root / "broken.kine").write_bytes(b"\x8bKNE\x01<script>alert(1)</script>")
    (root / "<img src=x>.kine").write_bytes(b"hostile name")
    (root / "notes.txt").write_bytes(SECRET)
    (root / ".hidden.kine").write_bytes(SECRET)
    (outside / "secret.kine").write_bytes(SECRET)
    (root / "link.kine").symlink_to(outside / "secret.kine")
    (root / "linked").symlink_to(outside)
    os.mkfifo(root / "pipe.kine")
    return root


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Running]:
    with Running(ServeSettings(folder)) as running:
        yield running


def ask(server: Running, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
    """As it stands: no client tidies up the path."""
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=10)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            if value:
                connection.putheader(name.replace("_", "-"), value)
        if body is not None and "Content_Length" not in headers:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
    finally:
        connection.close()


# Ranges and conditions.


def test_whole_file(server: Running, folder: Path) -> None:
    data = (folder / "walk.kine").read_bytes()
    answer = ask(server, "/files/walk.kine")
    assert (answer.status, answer.body) == (200, data)
    assert answer.headers["accept-ranges"] == "bytes" and answer.headers["content-length"] == str(len(data))
    head = ask(server, "/files/walk.kine", "HEAD")
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", str(len(data)))
    assert head.headers["etag"] == answer.headers["etag"]


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [("0-0", 0, 1), ("5-99", 5, 100), ("100-", 100, None), ("-7", -7, None), ("9-", 9, None)],
)
def test_part_of_a_file(server: Running, folder: Path, asked: str, start: int, stop: int | None) -> None:
    data = (folder / "walk.kine").read_bytes()
    answer = ask(server, "/files/walk.kine", Range=f"bytes={asked}")
    assert (answer.status, answer.body) == (206, data[start:stop])
    first = start % len(data)
    assert answer.headers["content-range"] == f"bytes {first}-{first + len(answer.body) - 1}/{len(data)}"


def test_ranges_that_cannot_be(server: Running, folder: Path) -> None:
    size = (folder / "walk.kine").stat().st_size
    for beyond in (f"bytes={size}-", "bytes=-0"):
        answer = ask(server, "/files/walk.kine", Range=beyond)
        assert (answer.status, answer.headers["content-range"]) == (416, f"bytes */{size}")
    for nonsense in ("bytes=9-2", "bytes=a-b", "lines=1-2", "bytes=0-1,4-5", "bytes=-", "bytes=" + "9" * 400 + "-"):
        assert ask(server, "/files/walk.kine", Range=nonsense).status == 200


def test_conditions(server: Running) -> None:
    first = ask(server, "/files/walk.kine")
    etag, modified = first.headers["etag"], first.headers["last-modified"]
    for same in ({"If_None_Match": etag}, {"If_None_Match": f'"x", W/{etag}'}, {"If_Modified_Since": modified}):
        answer = ask(server, "/files/walk.kine", **same)
        assert (answer.status, answer.body, answer.headers["etag"]) == (304, b"", etag)
    assert ask(server, "/files/walk.kine", If_None_Match='"other"', If_Modified_Since=modified).status == 200
    for condition, status in ((etag, 206), (modified, 206), ('"other"', 200), (f"W/{etag}", 200), ("junk", 200)):
        assert ask(server, "/files/walk.kine", Range="bytes=0-3", If_Range=condition).status == status


def test_a_changed_file_has_another_etag(server: Running, folder: Path) -> None:
    file = folder / "changing.kine"
    file.write_bytes(b"one")
    before = ask(server, "/files/changing.kine").headers["etag"]
    file.write_bytes(b"two")
    os.utime(file, ns=(1, 1))
    assert ask(server, "/files/changing.kine").headers["etag"] != before
    assert ask(server, "/files/changing.kine", Range="bytes=0-0", If_Range=before).body == b"two"
    file.unlink()


def test_the_reader_opens_by_ranges(server: Running, folder: Path) -> None:
    with kinepack.open(f"{server.url}/files/walk.kine") as file:
        part = file[0].decode(30, 60)
    assert part == kinepack.decompress((folder / "walk.kine").read_bytes()).slice(30, 60)


# Refusals.

OUTSIDE = [
    "/files/../secret.kine",
    "/files/sub/../../secret.kine",
    "/files/%2e%2e/secret.kine",
    "/files/%2e%2e%2fsecret.kine",
    "/files/..%5csecret.kine",
    "/files/%252e%252e%252fsecret.kine",
    "/files//etc/passwd.kine",
    "/files/%2fetc%2fpasswd.kine",
    "/files/link.kine",
    "/files/linked/secret.kine",
    "/files/linked/root/walk.kine",
    "/files/.hidden.kine",
    "/files/notes.txt",
    "/files/pipe.kine",
    "/files/sub",
    "/files/sub/",
    "/files/walk.kine%00.txt",
    "/files/walk.kine%00",
    "/files/%ff%fe.kine",
    "/files/" + "a/" * 2000 + "b.kine",
    "/files/" + "a" * 3000 + ".kine",
    "/thumbs/../secret.kine",
    "/thumbs/%2e%2e%2fsecret.kine",
    "/thumbs/link.kine",
    "/thumbs/notes.txt",
    "/player/../serve/app.py",
    "/player/walk.kine/%2e%2e/serve/app.py",
    "/player/walk.kine/..%2fserve%2fapp.py",
    "/player/walk.kine/app.py",
    "/secret.kine",
]


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: path[:40])
def test_paths_outside_are_refused(server: Running, path: str) -> None:
    answer = ask(server, path)
    assert answer.status in (400, 404) and SECRET not in answer.body
    if ".." in path.replace("%2e", "."):
        assert ask(server, "/files/walk.kine").status == 200


def test_every_answer_has_the_security_headers(server: Running) -> None:
    for path in ("/", "/files/walk.kine", "/files/nope.kine", "/thumbs/walk.kine", "/nowhere", "/style.css"):
        headers = ask(server, path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "script" not in policy
        assert "frame-ancestors 'none'" in policy and headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin" and headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers


def test_a_part_of_a_file_has_a_short_head(server: Running) -> None:
    """Over 32 kbit/s a hundred bytes are 25 ms."""
    headers = ask(server, "/files/walk.kine", Range="bytes=0-99").headers
    assert sum(len(name) + len(value) + 4 for name, value in headers.items()) < 400


@pytest.mark.parametrize("rate", ["7", "0", "-5", "nan", "inf", "x", ""])
def test_rates_that_make_no_sense(server: Running, rate: str) -> None:
    assert ask(server, f"/files/walk.kine?kbit={rate}").status == 400


def test_slow_answers_are_whole(server: Running) -> None:
    whole = ask(server, "/files/walk.kine").body
    assert ask(server, "/files/walk.kine?kbit=100000").body == whole
    assert ask(server, "/files/walk.kine?kbit=100000", Range="bytes=5-").body == whole[5:]


def test_slow_answers_are_few(server: Running) -> None:
    """Each is a wake-up every 10 ms for as long as its asker likes; those without a rate are not held up."""
    slow = []
    for _ in range(server.settings.max_slow):
        slow.append(http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=10))
        slow[-1].request("GET", "/files/walk.kine?kbit=8")
        assert slow[-1].getresponse().status == 200
    assert ask(server, "/files/walk.kine?kbit=8").status == 503
    assert ask(server, "/files/walk.kine").status == 200
    for one in slow:
        one.close()
    late = time.monotonic() + 10
    while ask(server, "/files/walk.kine?kbit=100000").status == 503:
        assert time.monotonic() < late, "answers that nobody reads go on"
        time.sleep(0.05)


def test_pages_lead_to_nothing_else(server: Running) -> None:
    for place in ("/watch/stage", "/energy"):
        for path in ("../__init__.py", "%2e%2e/__init__.py", "..%2f__init__.py", "nothing.js", "licences.md"):
            assert ask(server, f"{place}/{path}").status == 404


def test_other_names_are_refused(server: Running) -> None:
    assert ask(server, "/", Host="evil.example").status == 421
    assert ask(server, "/", Host="localhost:1").status == 200
    assert ask(server, "/", Host="[broken").status in (400, 421)


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT", "PATCH", "OPTIONS"])
def test_nothing_can_be_changed(server: Running, folder: Path, method: str) -> None:
    before = sorted(p.name for p in folder.iterdir())
    token = {"Authorization": f"Bearer {server.settings.token}"}
    assert ask(server, "/files/new.kine", method, (folder / "walk.kine").read_bytes(), **token).status == 405
    assert sorted(p.name for p in folder.iterdir()) == before


def test_a_download_that_stops_is_cut_off(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "large.kine").write_bytes(bytes(64 << 20))
    with Running(ServeSettings(tmp_path, download_stall_s=0.3)) as server:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.sendall(b"GET /files/large.kine HTTP/1.1\r\nHost: localhost\r\n\r\n")
            begin = time.monotonic()
            time.sleep(0.8)
            slow.settimeout(5)
            with pytest.raises(ConnectionResetError):
                while slow.recv(1 << 20):
                    pass
                raise ConnectionResetError  # closed without a reset is just as well
            assert time.monotonic() - begin < 5
        assert ask(server, "/").status == 200


# The catalogue.


def test_catalogue(server: Running) -> None:
    facts = json.loads(ask(server, "/catalogue.json").body)
    files = {entry["path"]: entry for entry in facts["files"]}
    assert set(files) == {"walk.kine", "sub/fish 1.kine", "broken.kine"} and facts["live"] == []
    assert files["walk.kine"]["frames"] == 120 and files["walk.kine"]["codec"] == "delta-lzma"
    assert files["sub/fish 1.kine"]["kind"] == "mesh" and "problem" in files["broken.kine"]


def test_page_is_plain_and_escaped(server: Running) -> None:
    page = ask(server, "/").body.decode()
    assert "<script" not in page and "style=" not in page and "http://" not in page and "https://" not in page
    assert "/thumbs/sub/fish%201.kine" in page and "&lt;script" not in page
    found = ask(server, "/?q=%22%3E%3Cscript%3E").body.decode()
    assert "<script" not in found and "No file matches" in found
    assert "walk" in ask(server, "/?q=WALK&page=999999").body.decode()
    assert ask(server, "/?page=-1&q=" + "x" * 5000).status == 200


@pytest.mark.parametrize("path", ["walk.kine", "sub/fish%201.kine", "broken.kine"])
def test_thumbnails(server: Running, path: str) -> None:
    answer = ask(server, f"/thumbs/{path}")
    assert (answer.status, answer.headers["content-type"]) == (200, "image/svg+xml")
    drawn = ElementTree.fromstring(answer.body)
    assert drawn.tag.endswith("svg") and len(drawn) >= 1
    assert ask(server, f"/thumbs/{path}", If_None_Match=answer.headers["etag"]).status == 304


def test_player_on_a_file(server: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinepack.serve.files.WEB_ASSETS", tmp_path)
    assert ask(server, "/player/walk.kine/").status == 404  # not built
    assert b'href="/files/walk.kine"' in ask(server, "/").body
    (tmp_path / "index.html").write_text("the player")
    (tmp_path / "player.js").write_text("//")
    page = ask(server, "/player/sub/fish%201.kine/")
    policy = page.headers["content-security-policy"]
    assert page.body == b"the player" and "script-src 'self' 'wasm-unsafe-eval'" in policy and "inline" not in policy
    assert ask(server, "/player/sub/fish%201.kine/player.js").headers["content-type"].startswith("text/javascript")
    session = json.loads(ask(server, "/player/sub/fish%201.kine/session.json").body)
    assert ask(server, session["items"][0]["url"]).status == 200
    assert b'href="/player/sub/fish%201.kine/"' in ask(server, "/").body


def test_an_empty_folder(tmp_path: Path) -> None:
    with Running(ServeSettings(tmp_path)) as server:
        assert b"no .kine file" in ask(server, "/").body


# Uploads.


@pytest.fixture
def taking(tmp_path: Path) -> Iterator[Running]:
    with Running(ServeSettings(tmp_path, upload=True, max_upload_bytes=200_000, upload_s=1.0)) as running:
        yield running


def put(server: Running, name: str, body: bytes, **headers: str) -> Answer:
    known = {"Authorization": f"Bearer {server.settings.token}"}
    return ask(server, f"/files/{name}", "PUT", body, **{**known, **headers})


def test_upload(taking: Running, folder: Path, tmp_path: Path) -> None:
    data = (folder / "walk.kine").read_bytes()
    answer = put(taking, "new%20walk.kine", data)
    assert (answer.status, answer.headers["location"]) == (201, "/files/new%20walk.kine")
    assert (tmp_path / "new walk.kine").read_bytes() == data == ask(taking, "/files/new%20walk.kine").body
    assert put(taking, "new%20walk.kine", data).status == 409


def test_bad_uploads(taking: Running, folder: Path, tmp_path: Path) -> None:
    data = (folder / "walk.kine").read_bytes()
    flipped = data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]
    (tmp_path / "there.kine").symlink_to(tmp_path / "elsewhere.kine")
    refused = {
        401: [put(taking, "a.kine", data, Authorization="Bearer wrong"), ask(taking, "/files/a.kine", "PUT", data)],
        400: [put(taking, name, data) for name in ("../a.kine", "%2e%2e%2fa.kine", "sub/a.kine", "a.txt", ".a.kine")],
        413: [put(taking, "a.kine", b"", Content_Length="200001")],
        411: [put(taking, "a.kine", b"0\r\n\r\n", Content_Length="", Transfer_Encoding="chunked")],
        422: [put(taking, "a.kine", bad) for bad in (b"", b"junk", data[:-5], flipped)],
        409: [put(taking, "there.kine", data)],
    }
    for status, answers in refused.items():
        assert [answer.status for answer in answers] == [status] * len(answers)
    assert [p.name for p in tmp_path.iterdir()] == ["there.kine"]


def test_slow_upload_is_given_up(taking: Running, tmp_path: Path) -> None:
    host, port = taking.url.removeprefix("http://").split(":")
    head = f"PUT /files/a.kine HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {taking.settings.token}\r\n"
    with socket.create_connection((host, int(port)), timeout=5) as slow:
        slow.sendall((head + "Content-Length: 5000\r\n\r\nabc").encode())
        assert b" 408 " in slow.recv(4096).split(b"\r\n")[0]
    assert not list(tmp_path.iterdir())
