/**
 * How other engines read a pool as an Iceberg table: the lines that the console shows, filled in, and the manual for an
 * example.
 *
 * What stands in a line is quoted as its language wants it: names of branches and tags are anybody's.
 */
import { shellWord } from '../curl.ts';

/** What is read of a pool: `main` where nothing is said. */
export interface ReadPlace {
  /** URL of the service, without a slash at its end. */
  readonly base: string;
  /** The pool's name in the catalogue: ASCII letters, digits, `_` and `-`. */
  readonly table: string;
  /** A branch, a tag, or a commit's id. */
  readonly at?: { readonly kind: 'branch' | 'tag' | 'commit'; readonly name: string };
  /** What stands for a key, where the service asks for one. */
  readonly key?: string;
}
/** What is typed or put somewhere. */
export interface EngineStep {
  /** Where it goes. */
  readonly title: string;
  readonly language: 'python' | 'sql' | 'sh' | 'properties';
  readonly text: string;
}
/** An engine and its lines. `note`: what one should know of it. `readsVariants`: tables that have columns of them. */
export interface EngineRow {
  readonly name: string;
  readonly note?: string;
  readonly readsVariants?: boolean;
  readonly steps: (place: ReadPlace) => readonly EngineStep[];
}

/** Of Iceberg's library for Spark; the bundle must be of the same version. */
const sparkIceberg = '1.12.0';

/** The engine can name a branch or a tag; a commit has a warehouse of its own everywhere. */
const refOf = ({ at }: ReadPlace): string | undefined =>
  at === undefined || at.kind === 'commit' || at.name === 'main' ? undefined : at.name;
const mainOf = (place: ReadPlace): string => (place.at?.kind === 'commit' ? `lake@${place.at.name}` : 'lake');
/** All tables as they are there, for engines that cannot name a ref. */
const pinnedOf = (place: ReadPlace): string => {
  const ref = refOf(place);
  return ref === undefined ? mainOf(place) : `lake@${ref}`;
};

const python = (text: string): string => JSON.stringify(text);
const sql = (text: string): string => `'${text.replaceAll("'", "''")}'`;
/** In dialects that take backslashes for escapes. */
const escapedSql = (text: string): string => `'${text.replace(/[\\']/g, (c) => `\\${c}`)}'`;
const name = (text: string): string => `"${text}"`;
const ticked = (text: string): string => `\`${text}\``;
/** In a file of Java's properties. */
const property = (text: string): string =>
  text.replace(/[\\\u007f-\uffff]/g, (c) =>
    c === '\\' ? '\\\\' : `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
const lines = (...texts: readonly (string | false)[]): string => texts.filter((text) => text !== false).join('\n');

const loadedByPyiceberg = (place: ReadPlace): string => {
  const { base, key, table } = place;
  const uri = `${base}/iceberg`;
  const credential = key === undefined ? '' : `, credential=${python(key)}`;
  return lines(
    'from pyiceberg.catalog import load_catalog',
    '',
    `lake = load_catalog("lake", type="rest", uri=${python(uri)}, warehouse=${python(mainOf(place))}${credential})`,
    `table = lake.load_table(${python(`lake.${table}`)})`,
  );
};
const pyiceberg = (place: ReadPlace): readonly EngineStep[] => {
  const ref = refOf(place);
  const scan = `table.scan()${ref === undefined ? '' : `.use_ref(${python(ref)})`}.to_arrow()`;
  return [
    { title: 'Shell', language: 'sh', text: 'pip install "pyiceberg[pyarrow]"' },
    { title: 'Python', language: 'python', text: lines(loadedByPyiceberg(place), scan) },
  ];
};
const polars = (place: ReadPlace): readonly EngineStep[] => {
  const ref = refOf(place);
  const snapshot = ref === undefined ? '' : `snapshot_id=table.snapshot_by_name(${python(ref)}).snapshot_id, `;
  const text = lines(
    'import polars as pl',
    loadedByPyiceberg(place),
    'of = table.io.properties',
    'options = {',
    '    "aws_endpoint_url": of["s3.endpoint"],',
    '    "aws_region": of["s3.region"],',
    '    "aws_access_key_id": of["s3.access-key-id"],',
    '    "aws_secret_access_key": of["s3.secret-access-key"],',
    '    "aws_session_token": of["s3.session-token"],',
    '    "aws_allow_http": "true",',
    '}',
    `pl.scan_iceberg(table, ${snapshot}storage_options=options).collect()`,
  );
  return [
    { title: 'Shell', language: 'sh', text: 'pip install polars "pyiceberg[pyarrow]"' },
    { title: 'Python', language: 'python', text },
  ];
};
const duckdb = (place: ReadPlace): readonly EngineStep[] => {
  const { base, key, table } = place;
  const uri = sql(`${base}/iceberg`);
  const secret =
    key !== undefined &&
    `CREATE SECRET lake (TYPE iceberg, CLIENT_ID 'me', CLIENT_SECRET ${sql(key)}, OAUTH2_SERVER_URI ${sql(`${base}/iceberg/v1/oauth/tokens`)});`;
  const access = key === undefined ? "AUTHORIZATION_TYPE 'none'" : 'SECRET lake';
  const text = lines(
    'INSTALL iceberg; INSTALL httpfs; LOAD iceberg; LOAD httpfs;',
    secret,
    `ATTACH ${sql(pinnedOf(place))} AS lake (TYPE iceberg, ENDPOINT ${uri}, ${access});`,
    `FROM lake.lake.${name(table)};`,
  );
  return [{ title: 'SQL', language: 'sql', text }];
};
const spark = (place: ReadPlace): readonly EngineStep[] => {
  const { base, key, table } = place;
  const found = refOf(place);
  // Digits are taken for the id of a snapshot.
  const isNamed = found !== undefined && !/^\d+$/.test(found);
  const settings = {
    '': 'org.apache.iceberg.spark.SparkCatalog',
    '.type': 'rest',
    '.uri': `${base}/iceberg`,
    '.warehouse': isNamed ? mainOf(place) : pinnedOf(place),
    ...(key !== undefined && { '.credential': `me:${key}`, '.oauth2-server-uri': `${base}/iceberg/v1/oauth/tokens` }),
    '.io-impl': 'org.apache.iceberg.aws.s3.S3FileIO',
    '.header.X-Iceberg-Access-Delegation': 'vended-credentials',
  };
  const packages = ['iceberg-spark-runtime-4.1_2.13', 'iceberg-aws-bundle'];
  const command = [
    `spark-sql --packages ${packages.map((own) => `org.apache.iceberg:${own}:${sparkIceberg}`).join(',')}`,
    ...Object.entries(settings).map(([end, value]) => `  --conf ${shellWord(`spark.sql.catalog.lake${end}=${value}`)}`),
  ];
  const version = isNamed ? ` VERSION AS OF ${escapedSql(found)}` : '';
  return [
    { title: 'Shell', language: 'sh', text: command.join(' \\\n') },
    { title: 'SQL', language: 'sql', text: `SELECT * FROM lake.lake.${ticked(table)}${version};` },
  ];
};
const trino = (place: ReadPlace): readonly EngineStep[] => {
  const { base, key, table } = place;
  const ref = refOf(place);
  const text = lines(
    'connector.name=iceberg',
    'iceberg.catalog.type=rest',
    `iceberg.rest-catalog.uri=${property(`${base}/iceberg`)}`,
    `iceberg.rest-catalog.warehouse=${property(mainOf(place))}`,
    key !== undefined && 'iceberg.rest-catalog.security=OAUTH2',
    key !== undefined && `iceberg.rest-catalog.oauth2.credential=${property(`me:${key}`)}`,
    key !== undefined && `iceberg.rest-catalog.oauth2.server-uri=${property(`${base}/iceberg/v1/oauth/tokens`)}`,
    key !== undefined && 'iceberg.rest-catalog.oauth2.scope=catalog',
    'iceberg.rest-catalog.vended-credentials-enabled=true',
    'fs.native-s3.enabled=true',
    `s3.endpoint=${property(`${base}/s3`)}`,
    's3.region=us-east-1',
    's3.path-style-access=true',
  );
  const version = ref === undefined ? '' : ` FOR VERSION AS OF ${sql(ref)}`;
  return [
    { title: 'etc/catalog/lake.properties', language: 'properties', text },
    { title: 'SQL', language: 'sql', text: `SELECT * FROM lake.lake.${name(table)}${version};` },
  ];
};
const clickhouse = (place: ReadPlace): readonly EngineStep[] => {
  const { base, key, table } = place;
  const header = key !== undefined && `  auth_header = ${escapedSql(`Authorization: Bearer ${key}`)},`;
  const text = lines(
    'SET allow_database_iceberg = 1;',
    `CREATE DATABASE lake ENGINE = DataLakeCatalog(${escapedSql(`${base}/iceberg/v1`)}) SETTINGS catalog_type = 'rest',`,
    header,
    `  warehouse = ${escapedSql(pinnedOf(place))}, storage_endpoint = ${escapedSql(`${base}/lake`)};`,
    `SELECT * FROM lake.${ticked(`lake.${table}`)};`,
  );
  return [{ title: 'SQL', language: 'sql', text }];
};

/** The engines in the order in which they are shown. */
export const engineRows: readonly EngineRow[] = [
  { name: 'pyiceberg', steps: pyiceberg },
  { name: 'DuckDB', readsVariants: true, steps: duckdb },
  { name: 'Spark', readsVariants: true, steps: spark },
  {
    name: 'Trino',
    note: 'Names are in lower case there: it finds a pool by that if it is the only one.',
    steps: trino,
  },
  { name: 'Polars', steps: polars },
  {
    name: 'ClickHouse',
    note: 'And chDB. The endpoint of the files is /lake, since it takes the first part of the path for the bucket.',
    steps: clickhouse,
  },
];
