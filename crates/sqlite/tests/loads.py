"""Bytes that a store of SQLite's writes for a commit, and the space that it takes once it is closed, for three loads.

    python3 crates/sqlite/tests/loads.py '' '&scheme=sepbit' '&space=1.5'

runs each load with each of these ends of the URI. It needs target/release with the extension and the command. ROWS, COMMITS and WARM in the
environment change the size: rows in the table, commits that are counted, and commits before them."""
import json, os, random, subprocess, sys, tempfile

RELEASE = os.path.abspath("target/release")
ROWS, COMMITS, WARM = (int(os.environ.get(name, n)) for name, n in [("ROWS", 50000), ("COMMITS", 3000), ("WARM", 2000)])
CHANGED, QUEUED = 10, 20000
MADE = f"""pragma cache_size=-8000;
create table t(k integer primary key, v blob); create table q(k integer primary key, v blob);
create table u(k blob primary key, v blob) without rowid;
with recursive c(x) as (select 0 union all select x+1 from c where x<{ROWS - 1}) insert into t select x, randomblob(120) from c;"""


def statement(load, n, chance):
    """The n-th transaction of a load."""
    if load == "updates":  # some rows far more often than others
        keys = ",".join(str(int(ROWS * chance.random() ** 4) * 7919 % ROWS) for _ in range(CHANGED))
        return f"update t set v=randomblob(120) where k in ({keys});"
    if load == "inserts":
        return "insert into u values " + ",".join(["(randomblob(16),randomblob(120))"] * CHANGED) + ";"
    rows = ",".join(f"({CHANGED * n + i},randomblob(120))" for i in range(CHANGED))
    return f"begin; insert into q values {rows}; delete from q where k<{CHANGED * (n + 1) - QUEUED}; commit;"


def run(load, end):
    with tempfile.TemporaryDirectory() as directory:
        store, chance = os.path.join(directory, "store"), random.Random(1)
        opening = f".load {RELEASE}/libfrostline_sqlite\n.open 'file:my.db?vfs=frostline&store={store}{end}'\n"

        def sqlite(lines):
            command = ["sqlite3", "-batch", "-init", "/dev/null"]
            return subprocess.run(command, input=opening + lines, capture_output=True, text=True, check=True).stdout

        def info():
            command = [f"{RELEASE}/frostline", "store", "info", f"file:{store}", "--json"]
            return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)

        def written():
            of = info()
            return sum(of[part + "_bytes"] for part in ("user", "relocated", "header", "padding")) + 4096 * of["checkpoint_pages"]

        sqlite(MADE + "\n".join(statement(load, n, chance) for n in range(WARM)))
        before = written()
        rest = "pragma cache_size=-8000;\n" + "\n".join(statement(load, n, chance) for n in range(WARM, WARM + COMMITS))
        pages = int(sqlite(rest + "\npragma page_count;").split()[-1])
        space = os.stat(store).st_blocks * 512
        print(f"{load} {end or 'default'}: {(written() - before) // COMMITS} bytes a commit; {space / 4096 / pages:.2f} times the database", flush=True)


for end in sys.argv[1:] or [""]:
    for load in ("updates", "inserts", "queue"):
        run(load, end)
