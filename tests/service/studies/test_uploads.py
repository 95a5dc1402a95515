"""Hostile ZIPs and names are refused with a sentence; the sizes that a ZIP declares are not trusted."""

import io
import re
import struct
import time
import zipfile

import pytest
from exchanged import peak_memory

from erkle.files import FileError
from erkle.service.studies.uploads import Caps, Files

SMALL = Caps(entries=20, file=1 << 20, total=3 << 20, ratio=50)


def zipped(entries, method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return file


def sent(entries, caps=SMALL, **options):
    return Files.sent([("things.zip", zipped(entries, **options))], caps)


def read_all(files):
    return {name: files.read(name) for name in files.names}


def test_files_inside_and_outside_a_zip_are_found_by_name():
    files = Files.sent(
        [
            ("a10.txt", io.BytesIO(b"ten")),
            ("things.zip", zipped([("sub/a2.txt", b"two")])),
            ("a9.txt", io.BytesIO(b"nine")),
        ]
    )
    assert files.names == ["a9.txt", "a10.txt", "sub/a2.txt"]
    assert read_all(files) == read_all(files) == {"a9.txt": b"nine", "a10.txt": b"ten", "sub/a2.txt": b"two"}


def test_a_file_is_found_by_the_end_of_its_path_if_that_is_unique():
    files = sent([("pics/cat.jpg", b"1"), ("pics/dog.jpg", b"2"), ("old/dog.jpg", b"3")])
    assert files.find("cat.jpg") == files.find("./pics\\cat.jpg") == files.find("my/pics/cat.jpg") == "pics/cat.jpg"
    assert files.find("dog.jpg") is None


@pytest.mark.parametrize(
    "name", ["../evil.jpg", "a/../../evil.jpg", "/etc/passwd", "C:\\evil.jpg", "..\\evil.jpg", "\\\\host\\x", ".."]
)
def test_a_name_that_leads_out_of_the_folder_is_refused(name):
    with pytest.raises(FileError, match="out of its folder"):
        sent([(name, b"x")])
    with pytest.raises(FileError, match="out of its folder"):
        Files.sent([(name, io.BytesIO(b"x"))])


@pytest.mark.parametrize("name", ["a\nb.jpg", "x" * 1001, "a\u202eb.jpg"])
def test_a_name_that_cannot_be_shown_is_refused(name):
    with pytest.raises(FileError, match="name"):
        Files.sent([(name, io.BytesIO(b"x"))])


def test_links_and_devices_are_refused():
    link = zipfile.ZipInfo("link.jpg")
    link.external_attr = 0o120777 << 16
    with pytest.raises(FileError, match=r"'link\.jpg' \(in things\.zip\) is a link"):
        sent([(link, "/etc/passwd")])


def test_files_that_operating_systems_add_are_ignored():
    files = sent(
        [("__MACOSX/._a.jpg", b"x"), (".DS_Store", b"x"), ("pics/Thumbs.db", b"x"), ("pics/", b""), ("a.jpg", b"x")]
    )
    assert files.names == ["a.jpg"]


def test_two_files_of_one_name_are_refused():
    with pytest.raises(FileError, match=r"^CAT\.jpg: "):
        sent([("cat.jpg", b"x"), ("CAT.jpg", b"y")])


def test_a_zip_in_a_zip_is_refused():
    with pytest.raises(FileError, match=r"^inner\.jpg: .*ZIP"):
        read_all(sent([("inner.jpg", zipped([("a", b"x")]).getvalue())]))


def test_a_bomb_is_refused_before_it_is_unpacked():
    files = sent([("bomb.bmp", b"\0" * (20 << 20))])
    began = time.perf_counter()
    with pytest.raises(FileError, match=r"^bomb\.bmp: .*(50-fold|1 MB)"):
        read_all(files)
    assert time.perf_counter() - began < 1.0


def test_an_entry_that_unpacks_to_more_than_it_declares_is_refused():
    data = bytearray(zipped([("bomb.bmp", b"\0" * (20 << 20))]).getvalue())
    at = data.find(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 10)
    with pytest.raises(FileError, match=r"^bomb\.bmp: "):
        read_all(Files.sent([("things.zip", io.BytesIO(bytes(data)))], SMALL))


def test_the_total_size_of_all_files_is_limited():
    files = sent([(f"{number}.bin", bytes(1 << 20)) for number in range(4)], method=zipfile.ZIP_STORED)
    with pytest.raises(FileError, match="3 MB"):
        read_all(files)


def test_the_number_of_entries_is_limited_before_the_list_of_a_zip_is_read():
    with pytest.raises(FileError, match="20 entries"):
        sent([(f"{number}.jpg", b"") for number in range(21)])
    with pytest.raises(FileError, match="at most 20"):
        Files.sent([(f"{number}.jpg", io.BytesIO(b"x")) for number in range(21)], SMALL)


def test_overlapping_entries_count_each_time():
    # Many entries share the same stored bytes, as in a small ZIP that unpacks to petabytes.
    data = bytearray(zipped([("a.bin", bytes(900_000))], zipfile.ZIP_STORED).getvalue())
    at, end = data.find(b"PK\x01\x02"), data.find(b"PK\x05\x06")
    entry = bytes(data[at:end])
    many = b"".join(entry[:46] + b"%c.bin" % (97 + number) + entry[51:] for number in range(10))
    tail = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 10, 10, len(many), at, 0)
    with pytest.raises(FileError, match=r"3 MB|damaged"):
        read_all(Files.sent([("things.zip", io.BytesIO(bytes(data[:at]) + many + tail))], SMALL))


def test_an_entry_that_claims_more_bytes_than_it_has_is_refused():
    # It would seem to grow less than it does.
    data = bytearray(zipped([("bomb.bmp", b"\0" * (20 << 20)), ("b.bin", bytes(range(200)))]).getvalue())
    at = data.find(b"PK\x01\x02")
    data[at + 20 : at + 24] = struct.pack("<I", 1 << 20)
    with pytest.raises(FileError, match=r"^things\.zip: "):
        Files.sent([("things.zip", io.BytesIO(bytes(data)))])


def test_long_names_with_many_numbers_take_little_memory():
    files = sent([("1-" * 490 + str(number), b"") for number in range(400)], Caps())
    with peak_memory() as peak:
        assert len(files.names) == 400
    assert peak() < 8 << 20


def test_a_file_is_in_memory_once():
    files = Files.sent([("a.bin", io.BytesIO(bytes(32 << 20)))])
    with peak_memory() as peak:
        files.read("a.bin")
    assert peak() < 48 << 20


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_compression_that_needs_much_memory_is_refused(method):
    with pytest.raises(FileError, match=r"'a\.jpg' \(in things\.zip\)"):
        sent([("a.jpg", b"x" * 100)], method=method)


def test_encrypted_entries_are_refused():
    data = bytearray(zipped([("a.jpg", b"x")]).getvalue())
    data[data.find(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(FileError, match="encrypted"):
        Files.sent([("things.zip", io.BytesIO(bytes(data)))])


def test_a_damaged_zip_is_refused():
    data = zipped([("a.jpg", bytes(range(256)) * 100)], zipfile.ZIP_STORED).getvalue()
    with pytest.raises(FileError, match="damaged"):
        Files.sent([("things.zip", io.BytesIO(data[:500]))])
    flipped = bytearray(data)
    flipped[1000] ^= 1
    with pytest.raises(FileError, match="damaged"):
        read_all(Files.sent([("things.zip", io.BytesIO(bytes(flipped)))]))


def test_a_zip_with_any_byte_changed_is_read_or_refused_in_a_sentence():
    data, sentences = zipped([("a.jpg", b"hello" * 10), ("b/c.jpg", b"there")]).getvalue(), set()
    for place in range(len(data)):
        for value in (0, 0xFF, data[place] ^ 0x40):
            changed = data[:place] + bytes([value]) + data[place + 1 :]
            try:
                found = read_all(Files.sent([("things.zip", io.BytesIO(changed))], SMALL))
            except FileError as refused:
                sentences.add(str(refused))
            else:
                # The checksums of a ZIP cover the contents of its files, but not their names.
                assert set(found.values()) <= {b"hello" * 10, b"there", changed}
    assert sentences
    assert all(re.fullmatch(r"[^\n]+; [^\n]+\.", sentence) for sentence in sentences)


def test_hidden_files_of_a_folder_are_ignored(tmp_path):
    (tmp_path / "sub").mkdir()
    for name in ("b.jpg", ".hidden", "sub/a.jpg"):
        (tmp_path / name).write_bytes(b"x")
    assert Files.folder(tmp_path).names == ["b.jpg", "sub/a.jpg"]
