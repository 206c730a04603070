import os
import signal
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
        assert (stats["scheme"], stats["victim"]) == ("dac:classes=3", "cost-benefit")
        assert 0 < stats["zone_pages"] < 512 * 1024 // 4096, "some blocks of a zone are headers"
        assert stats["trigger"] == {"gp": 0.15}
        assert 1 < stats["waf"] < 1.1
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


@pytest.mark.parametrize("kind", ["file", "dir"])
def test_a_store_that_is_refused_leaves_nothing_behind(tmp_path, kind):
    path = f"{kind}:{tmp_path / 'pages'}"
    for options in ({"size": "1MiB"}, {"size": "64MiB", "scheme": "absent"}):
        with pytest.raises(fl.Refused):
            fl.Store.open(path, **options)
    assert list(tmp_path.iterdir()) == []
    with fl.Store.open(path, size="64MiB") as store:
        store.write(1, bytes(4096))


def test_a_loss_is_accepted_only_if_that_is_asked_for(tmp_path):
    path = tmp_path / "db"
    with fl.Db.open(path, bound="256MiB") as db:
        items = db.table("items")
        for first in range(0, 3000, 100):
            with db.transaction() as tx:
                for i in range(first, first + 100):
                    tx.put(items, b"%05d" % i, os.urandom(1000))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 15 // 16])
    with pytest.raises(fl.Damaged, match="cut short"):
        fl.Db.open(path)
    # The device is opened without what is cut, of which the database needs a page.
    with pytest.raises(fl.Damaged, match="is lost"):
        fl.Db.open(path, accept_loss=True)


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


def test_eight_threads_that_update_one_key_all_come_through():
    failed = []
    with fl.Db.open(bound="64MiB") as db:
        items = db.table("items")

        def add(tx):
            tx.put(items, b"n", b"%d" % (int(tx.get(items, b"n") or 0) + 1))

        def add_often():
            try:
                for _ in range(60):
                    db.update(add)
            except fl.Error as error:
                failed.append(error)

        threads = [threading.Thread(target=add_often) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
        with db.read() as look:
            assert look.get(items, b"n") == b"480"


def test_a_table_of_another_database_is_refused(tmp_path):
    path = tmp_path / "db"
    with fl.Db.open(path, bound="64MiB") as db, fl.Db.open(bound="64MiB") as other:
        mine, foreign = db.table("items"), other.table("items")
        for call in (
            lambda tx: tx.put(foreign, b"a", b"1"),
            lambda tx: tx.delete(foreign, b"a"),
            lambda tx: tx.get(foreign, b"a"),
            lambda tx: list(tx.range(foreign)),
            lambda tx: list(tx.prefix(foreign, b"a")),
        ):
            with pytest.raises(fl.Error, match="another database"):
                db.update(call)
    with fl.Db.open(path) as db, db.read() as look:
        with pytest.raises(fl.Error, match="earlier opening"):
            look.get(mine, b"a")
        assert list(look.range(db.table("items"))) == []


def test_a_large_value_and_many_puts_fit_into_the_log_that_a_database_has_by_default(tmp_path):
    with fl.Db.open(tmp_path / "db") as db:
        items = db.table("items")
        large = os.urandom(4 << 20)
        db.update(lambda tx: tx.put(items, b"large", large))
        with db.transaction() as tx:
            for n in range(100_000):
                tx.put(items, b"%08d" % n, b"x" * 100)
        with db.read() as look:
            assert look.get(items, b"large") == large
            assert sum(1 for _ in look.prefix(items, b"0")) == 100_000
    with fl.Db.open(bound="256MiB", log_bytes="4MiB") as db, pytest.raises(fl.Error, match="log_bytes"):
        many = {b"%08d" % n: b"x" * 100 for n in range(100_000)}
        db.table("items").update(many)


def in_fork(call):
    """What a call answers in a process that is forked here: the text of its error, or 'no error'."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        # One that waits for a thread that is not there would wait for ever.
        signal.alarm(30)
        try:
            call()
            answer = "no error"
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(write, answer.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answers:
        answer = answers.read()
    assert os.waitpid(child, 0)[1] == 0, answer
    return answer


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_what_was_opened_before_a_fork_says_so_at_every_call():
    page = bytes(4096)
    with fl.Store.open("mem:", size="64MiB") as store, fl.Db.open(bound="64MiB") as db:
        items = db.table("items")
        with db.transaction() as tx:
            tx.put(items, b"a", b"1")
            for call in (
                lambda: tx.get(items, b"a"),
                lambda: tx.put(items, b"a", b"2"),
                lambda: tx.delete(items, b"a"),
                lambda: list(tx.range(items)),
                lambda: tx._native.commit(wait=True),
                lambda: tx._native.rollback(),
                lambda: db.table("items"),
                lambda: db.tables(),
                lambda: db.update(lambda tx: None),
                lambda: db.read().__enter__(),
                lambda: db.close(),
            ):
                assert "the database was opened by process" in in_fork(call)
        for call in (
            lambda: store.write(1, page),
            lambda: store.write_many(np.zeros(1), np.zeros((1, 4096))),
            lambda: store.read(1),
            lambda: store.trim(1),
            lambda: store.sync(),
            lambda: store.checkpoint(),
            lambda: store.stats(),
            lambda: store.pages,
            lambda: store.close(),
        ):
            assert "the store was opened by process" in in_fork(call)
        # Neither harms the one that they are of.
        with db.read() as look:
            assert look.get(items, b"a") == b"1"
        store.write(1, page)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_forgets_what_it_can_not_use_and_opens_and_replays_anew(lbas):
    kept = [fl.Db.open(bound="64MiB"), fl.Store.open("mem:", size="64MiB")]
    few = lbas[:30_000]
    fl.simulate(few, "sepbit", gain=False)

    def call():
        kept.clear()
        with fl.Db.open(bound="64MiB") as db:
            db.update(lambda tx: tx.put(db.table("items"), b"a", b"1"))
        fl.simulate(few, "sepbit", gain=False)

    assert in_fork(call) == "no error"
    kept[0].tables()


def test_a_database_is_not_closed_under_a_transaction():
    db = fl.Db.open(bound="64MiB")
    with db.read() as look, pytest.raises(fl.Error, match="open"):
        db.close()
    del look
    db.close()
    with pytest.raises(fl.Error, match="closed"):
        db.table("items")


def test_a_snapshot_lasts_as_long_as_there_is_memory_for_what_it_sees():
    keys = [n.to_bytes(4, "big") for n in range(400)]

    def overwrite(db, table, time):
        with db.transaction() as tx:
            for key in keys:
                tx.put(table, key, bytes([time]) * 800)

    def read_of_what_was_overwritten(**options):
        with fl.Db.open(memory="8MiB", recovery_bytes="1MiB", **options) as db:
            table = db.table("t")
            overwrite(db, table, 0)
            with db.read() as snapshot:
                for time in range(1, 4):
                    overwrite(db, table, time)
                return snapshot.get(table, keys[7])

    assert read_of_what_was_overwritten() == b"\0" * 800
    with pytest.raises(fl.TooOld):
        read_of_what_was_overwritten(version_bytes="64KiB")
