"""Engines of Java, for engines.py: Spark in `ICEBERG_SPARK`, Trino in `ICEBERG_TRINO` (with `ICEBERG_TRINO_JAVA`)."""
import glob
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from functools import lru_cache

from asked import column, ended, key, quoted, uri

# For a machine that runs few statements, each but once.
brief = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
# Of rows that came and went: how many more there are then, and by how much the sum is greater.
came = "CASE lower(_change_type) WHEN 'insert' THEN 1 WHEN 'delete' THEN -1 END"
net = f"sum({came}), sum({came} * {column})"


@lru_cache
def spark():
    from pyspark.sql import SparkSession

    jars = ",".join(glob.glob(os.environ["ICEBERG_SPARK"] + "/jars/*.jar"))
    builder = SparkSession.builder.master("local[1]").config("spark.jars", jars).config("spark.ui.enabled", "false")
    settings = {
        "spark.driver.extraJavaOptions": " ".join(brief),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
    }
    for setting, value in settings.items():
        builder = builder.config(setting, value)
    return builder.getOrCreate()


@lru_cache
def spark_catalogue(warehouse):
    name = f"c{spark_catalogue.cache_info().currsize}"
    settings = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "rest",
        ".uri": uri,
        ".warehouse": warehouse,
        ".credential": f"me:{key}",
        ".oauth2-server-uri": f"{uri}/v1/oauth/tokens",
        ".io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        ".header.X-Iceberg-Access-Delegation": "vended-credentials",
    }
    for end, value in settings.items():
        spark().conf.set(f"spark.sql.catalog.{name}{end}", value)
    return name


def by_spark(case):
    lake = spark_catalogue(case["warehouse"])
    if "sql" in case:
        return [list(row) for row in spark().sql(case["sql"].replace("{lake}", lake)).collect()]
    source = f"{lake}.lake.{quoted(case['table'], '`')}"
    if "start" in case:
        reader = spark().read.format("iceberg").option("start-snapshot-id", str(case["start"]))
        return reader.option("end-snapshot-id", str(case["end"])).load(source).count()
    if "changes" in case:
        start, end = map(str, case["changes"])
        reader = spark().read.format("iceberg").option("start-snapshot-id", start).option("end-snapshot-id", end)
        reader.load(f"{source}.changes").createOrReplaceTempView("changes")
        return list(spark().sql(f"SELECT {net} FROM changes").collect()[0])
    at = ""
    if "ref" in case:
        at = f" VERSION AS OF '{case['ref']}'"
    if "snapshot" in case:
        at = f" VERSION AS OF {case['snapshot']}"
    if "ms" in case:
        at = f" TIMESTAMP AS OF timestamp_millis({case['ms']})"
    if "whole" in case:
        frame = spark().sql(f"SELECT * FROM {source}")
        names, rows = frame.columns, frame.collect()
        counts = [sum(row[i] is not None for row in rows) for i in range(len(names))]
        return {"rows": len(rows), "columns": dict(zip(names, counts))}
    if "columns" in case:
        names = ", ".join(f"cast({quoted(name, '`')} AS string)" for name in case["columns"])
        return [list(map(str, row)) for row in spark().sql(f"SELECT {names} FROM {source}{at}").collect()]
    columns = f"count(*), sum({column}), min({column}), max({column})"
    return list(spark().sql(f"SELECT {columns} FROM {source}{at}").collect()[0])


def read_by_spark(lines):
    command, statement = lines.split("\n---\n")
    words = shlex.split(command.replace("\\\n", " "))
    # A session of its own, so that its catalogue is another one of the same name.
    session = spark().newSession()
    for option, setting in zip(words, words[1:]):
        if option == "--conf":
            session.conf.set(*setting.split("=", 1))
    return session.sql(statement.rstrip(";")).count()


@lru_cache
def trino():
    """A server of its own with no catalogue yet; the address of its statements."""
    home, java = os.environ["ICEBERG_TRINO"], os.environ.get("ICEBERG_TRINO_JAVA", "java")
    port = free_port()
    data = tempfile.mkdtemp(prefix="lake-trino-")
    os.makedirs(f"{data}/etc/catalog")
    settings = {
        "config.properties": {
            "coordinator": "true",
            "node-scheduler.include-coordinator": "true",
            "http-server.http.port": port,
            "discovery.uri": f"http://127.0.0.1:{port}",
            "catalog.management": "dynamic",
            "catalog.store": "memory",
            "plugin.dir": f"{home}/plugin",
            "query.max-memory": "512MB",
            "query.max-memory-per-node": "512MB",
        },
        "node.properties": {"node.environment": "test", "node.id": "one", "node.data-dir": data},
        "log.properties": {"io.trino": "WARN"},
    }
    for name, own in settings.items():
        with open(f"{data}/etc/{name}", "w") as file:
            file.writelines(f"{setting}={value}\n" for setting, value in own.items())
    flags = [*brief, "-Xmx1536M", "--sun-misc-unsafe-memory-access=allow", "--add-modules=jdk.incubator.vector"]
    flags += ["-Djdk.attach.allowAttachSelf=true", f"-Dconfig={data}/etc/config.properties"]
    flags += ["-Dnode.environment=test", "-Dnode.id=one", f"-Dnode.data-dir={data}"]
    flags += [f"-Dlog.levels-file={data}/etc/log.properties", f"-Dcatalog.config-dir={data}/etc/catalog"]
    log = open(f"{data}/server.log", "w")
    command = [java, *flags, "-cp", ":".join(glob.glob(f"{home}/lib/*.jar")), "io.trino.server.TrinoServer"]
    process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=data)
    ended.append(lambda: (process.kill(), process.wait(), shutil.rmtree(data, ignore_errors=True)))
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/info") as answer:
                if not json.load(answer)["starting"]:
                    return f"http://127.0.0.1:{port}/v1/statement"
        except OSError:
            pass
        if process.poll() is not None:
            break
        time.sleep(0.5)
    with open(f"{data}/server.log") as file:
        raise RuntimeError(file.read()[-4000:])


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def trino_rows(statement):
    """Names and types of the columns, and the rows."""
    headers = {"X-Trino-User": "me", "X-Trino-Time-Zone": "UTC"}
    request = urllib.request.Request(trino(), data=statement.encode(), headers=headers)
    columns, rows = [], []
    while request:
        with urllib.request.urlopen(request) as answer:
            page = json.load(answer)
        if "error" in page:
            raise RuntimeError(page["error"]["message"])
        columns = page.get("columns", columns)
        rows += page.get("data", [])
        following = page.get("nextUri")
        request = following and urllib.request.Request(following, headers=headers)
    return columns, rows


def trino_create(name, properties):
    """A catalogue of these lines of a file of properties."""
    settings = dict(line.split("=", 1) for line in properties.splitlines())
    connector = settings.pop("connector.name")
    plain = lambda text: re.sub(r"\\(?:u([0-9a-f]{4})|(.))", lambda m: chr(int(m[1], 16)) if m[1] else m[2], text)
    given = ", ".join(f"{quoted(each)} = {quoted(plain(value), chr(39))}" for each, value in settings.items())
    trino_rows(f"CREATE CATALOG {name} USING {connector} WITH ({given})")
    return name


@lru_cache
def trino_catalogue(warehouse):
    lines = f"""connector.name=iceberg
iceberg.catalog.type=rest
iceberg.rest-catalog.uri={uri}
iceberg.rest-catalog.warehouse={warehouse}
iceberg.rest-catalog.security=OAUTH2
iceberg.rest-catalog.oauth2.credential=me:{key}
iceberg.rest-catalog.oauth2.server-uri={uri}/v1/oauth/tokens
iceberg.rest-catalog.oauth2.scope=catalog
iceberg.rest-catalog.vended-credentials-enabled=true
fs.native-s3.enabled=true
s3.endpoint={uri.removesuffix("/iceberg")}/s3
s3.region=us-east-1
s3.path-style-access=true"""
    return trino_create(f"c{trino_catalogue.cache_info().currsize}", lines)


def by_trino(case):
    lake = trino_catalogue(case["warehouse"])
    if "sql" in case:
        return trino_rows(case["sql"].replace("{lake}", lake))[1]
    source = f"{lake}.lake.{quoted(case['table'])}"
    if "changes" in case:
        start, end = case["changes"]
        changes = f"TABLE({lake}.system.table_changes('lake', {quoted(case['table'], chr(39))}, {start}, {end}))"
        return trino_rows(f"SELECT {net} FROM {changes}")[1][0]
    at = ""
    if "ref" in case:
        at = f" FOR VERSION AS OF '{case['ref']}'"
    if "snapshot" in case:
        at = f" FOR VERSION AS OF {case['snapshot']}"
    if "ms" in case:
        at = f" FOR TIMESTAMP AS OF from_unixtime_nanos({case['ms']} * 1000000)"
    if "whole" in case:
        columns, rows = trino_rows(f"SELECT * FROM {source}")
        counts = [sum(row[i] is not None for row in rows) for i in range(len(columns))]
        return {"rows": len(rows), "columns": dict(zip((column["name"] for column in columns), counts))}
    if "columns" in case:
        names = ", ".join(f"cast({quoted(name)} AS varchar)" for name in case["columns"])
        return [list(map(str, row)) for row in trino_rows(f"SELECT {names} FROM {source}{at}")[1]]
    return trino_rows(f"SELECT count(*), sum({column}), min({column}), max({column}) FROM {source}{at}")[1][0]


def read_by_trino(lines):
    properties, statement = lines.split("\n---\n")
    trino_rows("DROP CATALOG IF EXISTS lake")
    trino_create("lake", properties)
    return len(trino_rows(statement.rstrip(";"))[1])
