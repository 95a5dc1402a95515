"""Hostile ZIPs and names: each is refused with a sentence, and nothing is believed that a file says of itself."""

import io
import re
import struct
import time
import zipfile

import pytest

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


def test_files_come_by_name_from_inside_a_zip_and_from_beside_it():
    files = Files.sent(
        [
            ("a10.txt", io.BytesIO(b"ten")),
            ("things.zip", zipped([("sub/a2.txt", b"two")])),
            ("a9.txt", io.BytesIO(b"nine")),
        ]
    )
    assert files.names == ["a9.txt", "a10.txt", "sub/a2.txt"]
    assert read_all(files) == read_all(files) == {"a9.txt": b"nine", "a10.txt": b"ten", "sub/a2.txt": b"two"}


def test_a_file_is_found_by_the_end_of_its_path_where_that_is_clear():
    files = sent([("pics/cat.jpg", b"1"), ("pics/dog.jpg", b"2"), ("old/dog.jpg", b"3")])
    assert files.find("cat.jpg") == files.find("./pics\\cat.jpg") == files.find("my/pics/cat.jpg") == "pics/cat.jpg"
    assert files.find("dog.jpg") is None


@pytest.mark.parametrize(
    "name", ["../evil.jpg", "a/../../evil.jpg", "/etc/passwd", "C:\\evil.jpg", "..\\evil.jpg", "\\\\host\\x", ".."]
)
def test_a_name_that_leads_elsewhere_is_refused(name):
    with pytest.raises(FileError, match="leads out of its folder"):
        sent([(name, b"x")])
    with pytest.raises(FileError, match="leads out of its folder"):
        Files.sent([(name, io.BytesIO(b"x"))])


@pytest.mark.parametrize("name", ["a\nb.jpg", "x" * 1001, "a\u202eb.jpg"])
def test_a_name_that_cannot_be_shown_is_refused(name):
    with pytest.raises(FileError, match="is no name for a file"):
        Files.sent([(name, io.BytesIO(b"x"))])


def test_links_and_devices_are_refused():
    link = zipfile.ZipInfo("link.jpg")
    link.external_attr = 0o120777 << 16
    with pytest.raises(FileError, match="is a link or a device"):
        sent([(link, "/etc/passwd")])


def test_what_systems_leave_in_zips_is_ignored():
    files = sent(
        [("__MACOSX/._a.jpg", b"x"), (".DS_Store", b"x"), ("pics/Thumbs.db", b"x"), ("pics/", b""), ("a.jpg", b"x")]
    )
    assert files.names == ["a.jpg"]


def test_two_files_of_one_name_are_refused():
    with pytest.raises(FileError, match="two files of this name"):
        sent([("cat.jpg", b"x"), ("CAT.jpg", b"y")])


def test_a_zip_in_a_zip_is_refused():
    with pytest.raises(FileError, match="is a ZIP in a ZIP"):
        read_all(sent([("inner.jpg", zipped([("a", b"x")]).getvalue())]))


def test_a_bomb_is_refused_before_it_is_unpacked():
    files = sent([("bomb.bmp", b"\0" * (100 << 20))])
    began = time.perf_counter()
    with pytest.raises(FileError, match=r"grows more than 50-fold|is larger than 1 MB"):
        read_all(files)
    assert time.perf_counter() - began < 1.0


def test_a_zip_that_lies_about_its_sizes_is_refused():
    data = bytearray(zipped([("bomb.bmp", b"\0" * (20 << 20))]).getvalue())
    at = data.find(b"PK\x01\x02")
    data[at + 20 : at + 28] = struct.pack("<II", 1 << 30, 10)
    with pytest.raises(FileError, match=r"is larger than|cut short or damaged"):
        read_all(Files.sent([("things.zip", io.BytesIO(bytes(data)))], SMALL))


def test_all_files_together_have_a_cap():
    files = sent([(f"{number}.bin", bytes(1 << 20)) for number in range(4)], method=zipfile.ZIP_STORED)
    with pytest.raises(FileError, match="with it the files are larger than 3 MB"):
        read_all(files)


def test_entries_have_a_cap_that_the_list_of_a_zip_cannot_pass_by():
    with pytest.raises(FileError, match="more than 20 entries"):
        sent([(f"{number}.jpg", b"") for number in range(21)])
    with pytest.raises(FileError, match="one file too many"):
        Files.sent([(f"{number}.jpg", io.BytesIO(b"x")) for number in range(21)], SMALL)


def test_overlapping_entries_count_each_time():
    # Many entries of the list that are all the same stored bytes: how a small ZIP becomes petabytes.
    data = bytearray(zipped([("a.bin", bytes(900_000))], zipfile.ZIP_STORED).getvalue())
    at, end = data.find(b"PK\x01\x02"), data.find(b"PK\x05\x06")
    entry = bytes(data[at:end])
    many = b"".join(entry[:46] + b"%c.bin" % (97 + number) + entry[51:] for number in range(10))
    tail = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 10, 10, len(many), at, 0)
    with pytest.raises(FileError, match=r"larger than 3 MB|cut short or damaged"):
        read_all(Files.sent([("things.zip", io.BytesIO(bytes(data[:at]) + many + tail))], SMALL))


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_ways_of_packing_that_want_much_memory_are_refused(method):
    with pytest.raises(FileError, match="packed in a rare way"):
        sent([("a.jpg", b"x" * 100)], method=method)


def test_encrypted_entries_are_refused():
    data = bytearray(zipped([("a.jpg", b"x")]).getvalue())
    data[data.find(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(FileError, match="is encrypted"):
        Files.sent([("things.zip", io.BytesIO(bytes(data)))])


def test_a_damaged_zip_is_told():
    data = zipped([("a.jpg", bytes(range(256)) * 100)], zipfile.ZIP_STORED).getvalue()
    with pytest.raises(FileError, match="cut short or damaged"):
        Files.sent([("things.zip", io.BytesIO(data[:500]))])
    flipped = bytearray(data)
    flipped[1000] ^= 1
    with pytest.raises(FileError, match="cut short or damaged"):
        read_all(Files.sent([("things.zip", io.BytesIO(bytes(flipped)))]))


def test_any_change_of_any_byte_is_read_or_refused_in_a_sentence():
    data, sentences = zipped([("a.jpg", b"hello" * 10), ("b/c.jpg", b"there")]).getvalue(), set()
    for place in range(len(data)):
        for value in (0, 0xFF, data[place] ^ 0x40):
            changed = data[:place] + bytes([value]) + data[place + 1 :]
            try:
                found = read_all(Files.sent([("things.zip", io.BytesIO(changed))], SMALL))
            except FileError as refused:
                sentences.add(str(refused))
            else:
                # The checksum of a ZIP is of the bytes: they are read as they were, whatever became of a name.
                assert set(found.values()) <= {b"hello" * 10, b"there", changed}
    assert sentences
    assert all(re.fullmatch(r"[^\n]+; [^\n]+\.", sentence) for sentence in sentences)


def test_a_folder_gives_its_files_and_not_hidden_ones(tmp_path):
    (tmp_path / "sub").mkdir()
    for name in ("b.jpg", ".hidden", "sub/a.jpg"):
        (tmp_path / name).write_bytes(b"x")
    assert Files.folder(tmp_path).names == ["b.jpg", "sub/a.jpg"]
