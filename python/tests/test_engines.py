import threading

import numpy as np
import pytest

import frostline as fl


def test_pages_survive_closing_and_are_counted_as_in_the_simulator(tmp_path):
    generator = np.random.default_rng(1)
    path = tmp_path / "store"
    with fl.Store.open(path, size="32MiB", zone="512KiB", scheme="dac:classes=3") as store:
        lbas = np.arange(2000, dtype=np.uint32)
        pages = generator.integers(0, 256, (2000, 4096), dtype=np.uint8)
        store.write_many(lbas, pages)
        store.write(5, b"\x05" * 4096)
        assert store.trim(6)
        assert not store.trim(6)
        store.sync()
        stats = store.stats()
        assert stats["user_writes"] == 2001
        assert stats["valid_pages"] == 1999
        assert stats["pages"] == store.pages > 2000
        with pytest.raises(fl.Error, match="page"):
            store.write(1, b"short")
        with pytest.raises(fl.Error, match="pages of 4096 bytes"):
            store.write_many(lbas, pages[:1])
    with pytest.raises(fl.Error, match="closed"):
        store.read(5)
    with fl.Store.open(path) as store:
        assert store.read(5) == b"\x05" * 4096
        assert store.read(6) is None
        assert store.read(7) == pages[7].tobytes()
    with pytest.raises(fl.Error):
        fl.Store.open(tmp_path / "none")


def test_records_survive_closing_and_ranges_are_in_order(tmp_path):
    path = tmp_path / "db"
    with fl.Db.open(path, bound="256MiB") as db:
        items = db.table("items")
        keys = [f"{i:05}".encode() for i in range(1000)]
        with db.transaction() as tx:
            for key in keys:
                tx.put(items, key, key * 3)
            tx.delete(items, keys[10])
            assert tx.get(items, keys[10]) is None, "its own writes are seen"
        assert db.tables() == ["items"]
    del keys[10]
    with fl.Db.open(path, create=False) as db, db.read() as look:
        items = db.table("items")
        assert look.get(items, b"00020") == b"00020" * 3
        assert [key for key, _ in look.range(items)] == keys
        assert [key for key, _ in look.range(items, backward=True)] == keys[::-1]
        middle = [key for key in keys if b"00300" <= key < b"00700"]
        assert [key for key, _ in look.range(items, b"00300", b"00700")] == middle
        assert [key for key, _ in look.range(items, b"00300", b"00700", backward=True)] == middle[::-1]
        assert [key for key, _ in look.prefix(items, b"0012")] == [k for k in keys if k.startswith(b"0012")]
    with pytest.raises(fl.Error):
        fl.Db.open(tmp_path / "none", create=False)


def test_a_transaction_that_fails_writes_nothing():
    with fl.Db.open(bound="64MiB") as db:
        items = db.table("items")
        with pytest.raises(KeyError), db.transaction() as tx:
            tx.put(items, b"a", b"1")
            raise KeyError("a")
        with db.read() as look:
            assert look.get(items, b"a") is None
        with pytest.raises(fl.Error, match="ended"):
            tx.put(items, b"a", b"2")


def test_of_two_that_write_a_key_the_second_conflicts_and_update_runs_it_again():
    with fl.Db.open(bound="64MiB") as db:
        items = db.table("items")
        with pytest.raises(fl.Conflict), db.transaction() as late:
            late.put(items, b"n", b"1")
            with db.transaction() as early:
                early.put(items, b"n", b"2")

        def add(tx):
            tx.put(items, b"n", b"%d" % (int(tx.get(items, b"n")) + 1))

        threads = [threading.Thread(target=lambda: [db.update(add) for _ in range(50)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with db.read() as look:
            assert look.get(items, b"n") == b"202"


def test_a_database_is_not_closed_under_a_transaction():
    db = fl.Db.open(bound="64MiB")
    with db.read() as look, pytest.raises(fl.Error, match="open"):
        db.close()
    del look
    db.close()
    with pytest.raises(fl.Error, match="closed"):
        db.table("items")
