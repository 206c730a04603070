import io

import pytest

import frostline as fl


@pytest.fixture
def db():
    with fl.Db.open(bound="256MiB") as db:
        yield db


def test_a_long_value_is_written_and_read_as_a_file(db):
    films = db.table("films")
    whole = bytes(range(256)) * 20_000
    with db.transaction() as tx:
        assert tx.put_from(films, b"a", io.BytesIO(whole)) == len(whole)
        with tx.value_writer(films, b"b") as film:
            assert film.write(bytearray(b"first ")) == 6
            film.write(memoryview(whole))
    with db.read() as look:
        assert look.get(films, b"a") == whole
        with look.value_reader(films, b"b") as film:
            assert film.read(6) == b"first "
            assert film.read() == whole
            assert film.seek(-5, io.SEEK_END) == len(whole) + 1
            assert film.read() == whole[-5:]
            film.seek(1_000_006)
            assert film.read(3) == whole[1_000_000:1_000_003]
        assert look.value_reader(films, b"c") is None


def test_a_value_that_is_not_finished_changes_nothing(db):
    films = db.table("films")
    films[b"a"] = b"before"
    with db.transaction() as tx:
        with pytest.raises(ZeroDivisionError), tx.value_writer(films, b"a") as film:
            film.write(bytes(6_000_000))
            1 / 0
        writer = tx.value_writer(films, b"b")
        writer.write(b"once")
        writer.finish()
        with pytest.raises(fl.Error, match="is finished"):
            writer.finish()
    assert films[b"a"] == b"before" and films[b"b"] == b"once"
    with db.read() as look, pytest.raises(fl.ReadOnly):
        fl.Update(look._native).value_writer(films, b"a")


def test_tables_are_ingested_renamed_measured_and_deleted(db):
    records = [(b"%06d" % n, b"%d" % n) for n in range(20_000)]
    squares = db.ingest("squares", iter(records))
    assert squares[b"000007"] == b"7" and len(squares) == 20_000
    size = db.table_size(squares)
    assert 18_000 < size.records < 22_000 and 80 < size.pages < 200 and size.bytes > 200_000
    db.rename_table("squares", "numbers")
    assert db.tables() == ["numbers"] and squares[b"000008"] == b"8"
    db.delete_table("numbers")
    assert db.tables() == []
    with pytest.raises(fl.Refused, match="deleted"):
        squares[b"000007"]
    with pytest.raises(fl.Refused, match="does not come behind"):
        db.ingest("wrong", [(b"b", b""), (b"a", b"")])
    with pytest.raises(TypeError):
        db.ingest("wrong", [("a", "b")])
    assert db.tables() == []


def test_options_of_a_database_are_taken(tmp_path):
    with fl.Db.open(
        tmp_path / "db", bound="256MiB", compression="none", parity=4, longest_logged_value="8KiB"
    ) as db:
        items = db.table("items")
        items[b"a"] = bytes(100_000)
        assert items[b"a"] == bytes(100_000)
    with pytest.raises(fl.Error, match="lz4"):
        fl.Db.open(compression="zip")


def test_a_copy_has_all_records_and_other_options(tmp_path):
    with fl.Db.open(tmp_path / "db", bound="256MiB") as db:
        items = db.table("items")
        items.update({b"%03d" % n: b"x" * n * 20 for n in range(100)})
        assert db.copy(tmp_path / "copy", bound="256MiB", scheme="sepbit", unit=4096) == 100
        with pytest.raises(fl.Error):
            db.copy(tmp_path / "copy")
        with fl.Db.open(tmp_path / "copy", create=False) as copy:
            assert dict(copy.table("items")) == dict(items)
