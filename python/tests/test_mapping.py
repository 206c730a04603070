import pytest

import frostline as fl


@pytest.fixture
def db():
    with fl.Db.open(bound="256MiB") as db:
        yield db


def test_a_table_is_a_mapping_in_order(db):
    items = db.table("items")
    assert not items and len(items) == 0
    items.update({b"%03d" % n: b"%d" % n for n in range(600)})
    assert items[b"007"] == b"7" and b"007" in items and b"x" not in items
    assert "007" not in items, "texts are no keys"
    with pytest.raises(KeyError):
        items[b"x"]
    assert items.get(b"x") is None
    assert [key for key, _ in items[b"010":b"012"]] == [b"010", b"011"]
    assert [key for key, _ in items[b"590"::-1]] == [b"%03d" % n for n in range(599, 589, -1)]
    assert list(items) == [b"%03d" % n for n in range(600)]
    assert list(reversed(items))[:2] == [b"599", b"598"]
    assert list(items.items())[1] == (b"001", b"1")
    del items[b"001"]
    with pytest.raises(KeyError):
        del items[b"001"]
    del items[b"100":b"600"]
    assert len(items) == 99
    assert items.pop(b"002") == b"2" and items.pop(b"002", None) is None
    assert items.popitem() == (b"099", b"99")
    assert items.setdefault(b"000", b"x") == b"0" and items.setdefault(b"new", b"x") == b"x"
    items.clear()
    assert not items


def test_a_view_is_the_table_in_a_transaction(db):
    items = db.table("items")
    items[b"a"] = b"1"
    with db.read() as before, db.transaction() as tx:
        tx[items][b"a"] = b"2"
        tx[items][b"b"] = b"3"
        assert list(tx[items].items()) == [(b"a", b"2"), (b"b", b"3")]
        assert items[b"a"] == b"1", "it is not committed"
        assert before[items][b"a"] == b"1"
        with pytest.raises(fl.ReadOnly):
            before[items][b"a"] = b"4"
    assert dict(items) == {b"a": b"2", b"b": b"3"}


def test_a_transaction_has_what_ordered_maps_have(db):
    items = db.table("items")
    with db.transaction() as tx:
        for n in range(10):
            tx.put(items, b"%d" % n, b"value")
        assert tx.first(items) == (b"0", b"value") and tx.last(items) == (b"9", b"value")
        assert tx.pop_first(items) == (b"0", b"value") and tx.pop_last(items) == (b"9", b"value")
        assert tx.len(items) == 8 and not tx.is_empty(items) and tx.contains(items, b"1")
        assert tx.get_many(items, [b"1", b"0"]) == [b"value", None]
        tx.patch(items, b"1", 1, b"XY")
        assert tx.get(items, b"1") == b"vXYue"
        assert tx.compare_and_set(items, b"1", b"vXYue", None)
        assert not tx.compare_and_set(items, b"1", b"vXYue", b"x")
        assert tx.compare_and_set(items, b"1", None, b"x")
        assert tx.delete_range(items, b"2", b"5") == 3
        with pytest.raises(ZeroDivisionError), tx.savepoint():
            tx.put(items, b"1", b"undone")
            with tx.savepoint():
                tx.delete(items, b"8")
            1 / 0
        assert tx.get(items, b"1") == b"x" and tx.contains(items, b"8")
    assert [key for key in items] == [b"1", b"5", b"6", b"7", b"8"]
    assert db.delete_range(items, b"6") == 3


def test_updates_may_be_durable_later(tmp_path):
    path = tmp_path / "db"
    db = fl.Db.open(path, bound="256MiB")
    items = db.table("items")
    for n in range(10):
        db.update(lambda tx, n=n: tx.put(items, b"%d" % n, b""), durable=False)
    db.sync()
    db.close()
    with fl.Db.open(path) as db:
        assert len(db.table("items")) == 10


def test_errors_have_kinds(tmp_path):
    path = tmp_path / "db"
    with fl.Db.open(path, bound="256MiB") as db:
        items = db.table("items")
        items[b"a"] = b"1"
        with pytest.raises(fl.Refused):
            items[bytes(5000)] = b""
        with pytest.raises(fl.InUse):
            fl.Db.open(path)
        db.back_up(tmp_path / "backup")
    fl.Db.restore(tmp_path / "backup", tmp_path / "copy")
    with pytest.raises(fl.BackupFailed):
        fl.Db.restore(tmp_path / "nothing", tmp_path / "other")
    with fl.Db.open(tmp_path / "copy", read_only=True) as copy:
        assert copy.table("items")[b"a"] == b"1"
        with pytest.raises(fl.ReadOnly):
            copy.table("items")[b"a"] = b"2"
        with pytest.raises(fl.Refused):
            copy.table("others")
    for kind in (fl.Conflict, fl.TooOld, fl.Full, fl.NotUsable, fl.Damaged, fl.DeviceFailed):
        assert issubclass(kind, fl.Error)
