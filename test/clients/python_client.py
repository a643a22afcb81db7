"""Cases of python-client.test.ts: python3 python_client.py URL CASE runs one. What is wrong is an exception."""

import gzip
import io
import ipaddress
import os
import sys
import tempfile
import threading
import uuid
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

from lake_data_service import (
    Conflict,
    Duration,
    ErrorValue,
    Invalid,
    LakeError,
    Map,
    NotFound,
    Set,
    Symbol,
    Time,
    TypeValue,
    Unavailable,
    connect,
)

lake = connect(sys.argv[1])


def fresh(*keys):
    return lake.create_pool(f"p{uuid.uuid4().hex[:8]}", keys=list(keys) or ["k"])


def same(got, wanted):
    assert got == wanted, f"{got!r} is not {wanted!r}"


def raises(kind, run):
    try:
        run()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


def test_a_load_that_bends():
    pool, other = fresh(), fresh()
    made = pool.branch().load(b'{"k":1}\noops\n{"k":2}', format="json", errors="skip", rejected=other.name)
    same((made.records, made.faulty, len(made.faults)), (2, 1, 1))
    same((made.faults[0].line, made.faults[0].column, made.faults[0].raw, made.faults[0].bytes), (2, 1, "oops", 4))
    same(made.rejected is not None, True)
    same([row["raw"] for row in other.branch().rows()], ["oops"])
    made = pool.branch().load([{"k": 3}])
    same((made.records, made.faulty, made.faults, made.rejected), (None, None, None, None))
    raises(Invalid, lambda: pool.branch().load(b"oops", format="json", errors="skip"))


def test_values_come_as_they_went():
    pool = fresh()
    rows = [
        {"k": 1, "a": 9007199254740993, "b": 2**64 - 1, "c": -(2**63), "d": 1.5, "e": -0.0, "f": 1e300, "g": 3.0},
        {"k": 2, "s": 'äöü "quoted" \\ \n \u2028 \U0001f600', "t": True, "n": None, "bytes": b"\x00\xff", "empty": ""},
        {"k": 3, "time": Time.parse("2026-01-02T03:04:05.123456789Z"), "span": Duration.parse("-1h0m0.000000001s")},
        {"k": 4, "ip": ipaddress.ip_address("10.0.0.1"), "six": ipaddress.ip_address("2001:db8::1"), "net": ipaddress.ip_network("10.0.0.0/8")},
        {"k": 5, "list": [1, "two", [3.5, None]], "set": Set([1, 2, 3]), "map": Map([(1, "a"), ("b", 2)])},
        {"k": 6, "r": {"deep": {"er": [{"a": 1}, {"b": 2}]}}, "odd name": 1, "": 2, "__proto__": 3, "ünïcode": 4},
        {"k": 7, "error": ErrorValue("missing"), "money": Decimal("0.1234567890123456789"), "type": TypeValue("{a:int64}")},
        {"k": 8},
    ]
    pool.branch().load(rows)
    got = pool.branch().rows().rows()
    same(got, rows)
    same([list(row) for row in got], [list(row) for row in rows])
    same(str(got[2]["time"]), "2026-01-02T03:04:05.123456789Z")
    same(got[2]["time"].nanoseconds % 1000, 789)
    same(got[2]["span"].nanoseconds, -3600000000001)
    assert type(got[0]["g"]) is float and type(got[0]["a"]) is int and isinstance(got[6]["money"], Decimal)


def test_surrogates_are_a_character_in_pairs_and_a_replacement_alone():
    pool = fresh()
    pool.branch().load([{"k": 1, "s": "a\ud83d\ude00", "\ud800": "\udc00\ud800x"}])
    same(lake.query(f"from {pool.name}").rows(), [{"k": 1, "s": "a\U0001f600", "\ufffd": "\ufffd\ufffdx"}])


def test_python_types_are_taken():
    pool = fresh()
    pool.branch().load(
        [
            {
                "k": 1,
                "at": datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
                "naive": datetime(2026, 1, 1),
                "day": date(2026, 1, 1),
                "span": timedelta(milliseconds=5),
                "id": uuid.UUID(int=7),
                "pair": (1, 2),
                "set": {5},
            }
        ]
    )
    row = pool.branch().rows().first()
    midnight = datetime(2026, 1, 1, tzinfo=timezone.utc)
    same([row["at"], row["naive"], row["day"]], [midnight] * 3)
    same([row["span"], row["id"], row["pair"], row["set"]], [timedelta(milliseconds=5), str(uuid.UUID(int=7)), [1, 2], Set([5])])
    raises(ValueError, lambda: pool.branch().load([{"k": 2**64}]))
    raises(ValueError, lambda: pool.branch().load([{"k": timedelta.max}]))
    raises(TypeError, lambda: pool.branch().load([{"k": object()}]))
    raises(TypeError, lambda: pool.branch().load("file.csv"))
    raises(TypeError, lambda: pool.branch().load({"k": 1}))
    same(lake.query(f"from {pool.name} | count()").first(), 1)


def test_enums_and_unions_of_others():
    same(lake.query('values "north"::enum(north,south)').first(), Symbol("north"))
    same(lake.query("values 1, 'x', [1,'x'], null | fuse").rows(), [1, "x", [1, "x"], None])
    same(lake.query("values <int64>, <{a?:string}>").rows(), [TypeValue("int64"), TypeValue("{a?:string}")])
    same(lake.query("values {a:1},{b:2} | fuse").rows(), [{"a": 1}, {"b": 2}])


def test_files_bytes_and_streams():
    with tempfile.TemporaryDirectory() as folder:
        pool = fresh()
        main = pool.branch()
        csv = Path(folder, "rows.csv")
        csv.write_text("k,s\n1,a\n2,b\n")
        main.load(csv)
        packed = Path(folder, "more.ndjson.gz")
        packed.write_bytes(gzip.compress(b'{"k":3}\n{"k":4}\n'))
        main.load(packed)
        main.load(b'{"k":5}')
        main.load(io.BytesIO(b"{k:6}"), format="sup")
        main.load(b'{"k":%d}\n' % i for i in (7, 8))
        main.load(b"k;s\n9;x\n", format="csv", csv_delimiter=";")
        main.load({"k": i} for i in range(10, 20))
        same(sorted(row["k"] for row in main.rows()), list(range(1, 20)))
        # Ten megabytes, piece by piece.
        big = fresh()
        line = b'{"k":1,"text":"' + b"x" * 1000 + b'"}\n'
        big.branch().load(line for _ in range(10_000))
        same(lake.query(f"from {big.name} | count()").first(), 10_000)
        same(sum(1 for _ in big.branch().rows()), 10_000)
        target = os.path.join(folder, "out.csv")
        main.rows().save(target, "csv")
        same(Path(target).read_text().count("\n"), 20)


def test_branches_merges_reverts_and_deletes():
    pool = fresh()
    main = pool.branch()
    first = main.load([{"k": i} for i in range(10)], message="ten ü", author="me", meta={"run": 7})
    trial = pool.create_branch("trial")
    same(trial.tip(), main.tip())
    preview = trial.preview_delete("k < 5")
    same((preview.tip, preview.records_removed - preview.records_added, preview.error), (trial.tip(), 5, None))
    trial.delete_where("k < 5")
    same(len(main.rows().rows()), 10)
    same([(row["change"], row["key"]["k"], row["after"]) for row in pool.diff("trial")], [("removed", i, None) for i in range(5)])
    same(pool.diff_summary("trial", "main"), {"added": 5, "removed": 0})
    same(len(pool.diff("main", base="trial").rows()), 5)
    known = lake.create_pool("versions", keys=["k"])
    known.set_identity(["k"])
    before = known.branch().load([{"k": 1, "a": {"b": 1}}]).commit
    known.branch().update("k == 1", "a.b := 2")
    same([(row["change"], row["fields"]) for row in known.diff("main", base=before)], [("changed", [["a", "b"]])])
    same(
        known.diff_summary(before, "main"),
        {"added": 0, "removed": 0, "changed": 1, "fields": [{"path": ["a", "b"], "count": 1}]},
    )
    same(main.preview_merge("trial").conflicts, [])
    merged = main.merge("trial")
    same([row["k"] for row in main.rows()], [5, 6, 7, 8, 9])
    main.revert(merged.commit)
    same(len(main.rows().rows()), 10)
    log = main.log()
    same([log[-1]["message"], log[-1]["author"], log[-1]["meta"]], ["ten ü", "me", {"run": 7}])
    raises(Conflict, lambda: main.load([{"k": 1}], if_match=first.commit))
    tag = pool.create_tag("v1", at="trial")
    same(pool.tags(), [tag])
    same(len(pool.branch("v1").rows().rows()), 5)
    raises(Conflict, lambda: pool.branch("v1").load([{"k": 1}]))
    raises(Conflict, lambda: main.reset(first.commit, if_match=first.commit))
    now = main.tip()
    main.reset(first.commit, if_match=now)
    same(main.tip(), first.commit)
    main.reset(now)
    pool.delete_tag("v1")
    same(pool.tags(), [])
    view = lake.create_view("seen ü", "select 1, 2", columns=["a", "b"])
    same([view["name"], view["columns"]], ["seen ü", ["a", "b"]])
    same(lake.query('from "seen ü"').rows(), [{"a": 1, "b": 2}])
    raises(Conflict, lambda: lake.create_view("seen ü", "values 1"))
    following = lake.put_view("seen ü", "values 3", if_match=view["version"])
    raises(Conflict, lambda: lake.put_view("seen ü", "values 4", if_match=view["version"]))
    same(lake.rename_view("seen ü", "seen")["query"], following["query"])
    same(lake.view("seen", version=view["version"])["columns"], ["a", "b"])
    same([row["name"] for row in lake.views()], ["seen"])
    lake.drop_view("seen")
    raises(NotFound, lambda: lake.view("seen"))
    trial.delete()
    same([branch["name"] for branch in pool.branches()], ["main"])
    assert pool.vacuum(dry_run=True) is not None
    pool.rename(pool.name + "x")
    assert pool.name in [row["name"] for row in lake.pools()]
    pool.delete()
    raises(NotFound, lambda: pool.branch().tip())


def test_one_key_is_one_commit():
    main = fresh().branch()
    commits = {main.load([{"k": 1}], key="once").commit for _ in range(3)}
    same((len(commits), len(main.rows().rows())), (1, 1))
    raises(Invalid, lambda: main.load([{"k": 2}], key="once"))


def test_a_load_can_be_looked_at_before():
    main = fresh().branch()
    seen = main.preview_load(b"k;v\n1;x\n2;y\n", format="csv")
    same((seen.format, seen.records, seen.complete, seen.fault), ("csv", 2, True, None))
    same(list(seen.rows), ['{k:1.,v:"x"}', '{k:2.,v:"y"}'])
    same(main.preview_load([{"k": 1}], cut=True).complete, False)
    same(main.rows().rows(), [])
    raises(Invalid, lambda: main.preview_load(b"{", format="json"))


def test_data_can_be_looked_at_without_a_pool():
    seen = lake.preview(b"id;created_at\n1;2026-01-01\n2;2026", cut=True)
    same((seen.format, seen.why, seen.records), ("csv", "the first line has the delimiter ';'", 1))
    same(seen.layout, {"order": "asc", "keys": [["created_at"]]})
    same(list(lake.preview([{"k": 1}]).rows), ["{k:1}"])
    skipped = lake.preview(b'{"k":1}\n{"k":\n{"k":3}\n', format="json", errors="skip")
    same((skipped.records, len(skipped.warnings)), (2, 1))
    raises(Invalid, lambda: lake.preview(b"no format at all"))


def test_transactions_are_all_or_none():
    one, two = fresh(), fresh()
    one.branch().load([{"k": 1, "v": 1}])
    staged = two.branch().stage([{"k": 2}, {"k": 3}])
    same(staged.records, 2)
    same(two.branch().rows().rows(), [])
    commits = [
        {"pool": two.name, "load": [staged.id]},
        {"pool": one.name, "update": {"where": "k==1", "put": "v:=2"}, "if_match": "0" * 40},
    ]
    error = raises(LakeError, lambda: lake.transact(commits))
    same(error.status, 400)
    assert str(error).startswith("commits[1]: invalid If-Match")
    commits[1]["if_match"] = one.branch().tip()
    made = lake.transact(commits, message="both", author="ann", key="k1")
    same(lake.transact(commits, message="both", author="ann", key="k1"), made)
    same([commit["commit"] for commit in made.commits], [made.transaction] * 2)
    same(lake.query(f"from '{two.name}'@{made.transaction} | count()").rows(), [2])
    same(one.branch().rows().rows(), [{"k": 1, "v": 2}])


def test_errors_say_what_the_service_says():
    error = raises(LakeError, lambda: lake.query("from nowhere").rows())
    same((type(error), error.status, error.kind), (Invalid, 400, "invalid operation"))
    assert "nowhere: pool not found" in str(error) and error.request_id
    same(error.places[0]["Pos"], 5)
    pool = fresh()
    raises(Conflict, lambda: lake.create_pool(pool.name))
    for name in ("", ".", ".."):
        unfit = raises(NotFound, lambda: pool.branch(name).tip())
        same(str(unfit), f'"{name}": not found: nothing in a lake has this name')
    assert "line 2" in str(raises(Invalid, lambda: pool.branch().load(b'{"k":1}\n{"k":', format="ndjson")))
    raises(ValueError, lambda: connect("localhost:9867"))
    raises(OSError, lambda: connect("http://127.0.0.1:1", retries=0).version())
    raises(TypeError, lambda: pool.branch().load([], massage="x"))


def test_hostile_names():
    name = 'we?ird/n"ame#ü %2e'
    pool = lake.create_pool(name, keys=["a b"])
    branch = pool.create_branch("x/y?z")
    branch.load([{"a b": 1}])
    same(branch.rows().rows(), [{"a b": 1}])
    same(sorted(row["name"] for row in pool.branches()), ["main", "x/y?z"])
    same(len(branch.log()), 1)
    pool.delete()


def test_warnings_and_heads():
    pool = fresh()
    pool.branch().load([{"k": 1, "name": "x"}])
    query = lake.query(f"select nme from {pool.name}")
    query.rows()
    assert any("nme" in warning for warning in query.warnings), query.warnings
    same(lake.query("count()", pool=pool.name, branch="main").first(), 1)
    same(lake.query("values [1,2,3][1]", index_base=1).first(), 1)


def test_notebooks_show_tables():
    html = lake.query("values {a:1,b:'<b>'},{a:2}")._repr_html_()
    assert "<th>a</th><th>b</th>" in html and "&lt;b&gt;" in html and html.count("<tr>") == 3, html
    assert "first 20 rows" in lake.query("unnest [" + ",".join(["1"] * 30) + "]")._repr_html_()


def test_an_answer_knows_of_the_event_that_is_asked_for():
    pool = fresh()
    pool.branch().load([{"k": 1}])
    event = lake.last_event()
    assert event > 0, event
    reader = connect(lake._transport.url, after=lake.last_event)
    same(reader.last_event(), None)
    same(reader.query(f"from {pool.name}").rows(), [{"k": 1}])
    assert reader.last_event() >= event
    same(lake.query(f"from {pool.name}", after=event).rows(), [{"k": 1}])
    for read in (
        lambda: lake.query("values 1", after=event + 1000).rows(),
        lambda: connect(lake._transport.url, after=event + 1000, retries=0).pool(pool.name).branch().tip(),
    ):
        said = raises(Unavailable, read)
        assert said.status == 504 and f"Lake-After {event + 1000}: the lake is at event " in said.message, said.message
    # One of a query is in the place of that of the client.
    same(connect(lake._transport.url, after=event + 1000).query("values 1", after=event).rows(), [1])


def test_what_is_no_standby_is_not_promoted():
    said = raises(Conflict, lake.promote)
    assert "standby" in said.message, said.message


def test_threads_share_a_client():
    main = fresh().branch()
    threads = [threading.Thread(target=lambda i=i: main.load([{"k": i}])) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same(sorted(row["k"] for row in main.rows()), list(range(20)))


def test_what_cannot_be_sent_twice_needs_no_old_connection():
    main = fresh().branch()
    lake.version()
    for connection in lake._transport._idle:
        connection.sock.shutdown(2)
    main.load({"k": i} for i in range(3))
    same(len(main.rows().rows()), 3)


def test_frames_moments():
    """What has nanoseconds keeps them, in the types of NumPy and pandas too."""
    import numpy
    import pandas

    pool = fresh()
    at = "2026-01-01T00:00:00.123456789"
    times = [pandas.Timestamp(at, tz="UTC"), numpy.datetime64(at), numpy.array([at, "NaT"], dtype="M8[ns]")]
    spans = [pandas.Timedelta("1ns"), pandas.Timedelta("-1ns"), numpy.timedelta64(5, "ns"), numpy.timedelta64(5, "s")]
    none = [pandas.NaT, numpy.datetime64("NaT"), numpy.timedelta64("NaT")]
    pool.branch().load([{"k": 1, "times": times, "spans": spans, "none": none}])
    row = pool.branch().rows().first()
    time = Time.parse(at + "Z")
    same(row["times"], [time, time, [time, None]])
    same(row["spans"], [Duration.of(1), Duration.of(-1), Duration.of(5), Duration.parse("5s")])
    same(row["none"], [None] * 3)
    raises(ValueError, lambda: pool.branch().load([{"k": numpy.datetime64("9999-01-01")}]))
    raises(TypeError, lambda: pool.branch().load([{"k": numpy.longdouble("1.1")}]))


def test_frames_both_ways():
    import pandas
    import polars
    import pyarrow

    wanted = [{"k": i, "s": f"row {i}", "x": i / 2} for i in range(1000)]
    table = pyarrow.Table.from_pylist(wanted)
    for make in (lambda: table, lambda: table.to_pandas(), lambda: polars.from_arrow(table), lambda: table.to_reader(), lambda: polars.from_arrow(table).lazy()):
        pool = fresh()
        pool.branch().load(make())
        same(pool.branch().rows().rows(), wanted)
        query = pool.branch().rows()
        same(query.arrow().to_pylist(), wanted)
        same(query.pandas().to_dict("records"), wanted)
        same(query.polars().to_dicts(), wanted)
    frame = pandas.DataFrame({"k": [1, 2], "at": pandas.to_datetime(["2026-01-01T00:00:00.123456789Z", None])})
    pool = fresh()
    pool.branch().load(frame)
    rows = pool.branch().rows().rows()
    same([str(rows[0]["at"]), rows[1]["at"]], ["2026-01-01T00:00:00.123456789Z", None])
    # Rows of several types are columns with nulls; none at all are an empty table.
    pool.branch().load([{"k": 3, "more": "x"}])
    same(pool.branch().rows().arrow().column("more").to_pylist(), [None, None, "x"])
    same(lake.query(f"from {pool.name} | where k > 99").arrow().num_rows, 0)
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "out.parquet")
        pool.branch().rows().save(target, "parquet")
        same(len(pandas.read_parquet(target)), 3)


if __name__ == "__main__":
    globals()[f"test_{sys.argv[2]}"]()
    lake.close()
    sys.stdout.flush()
    # Threads of pyarrow now and then abort at exit.
    os._exit(0)
