/**
 * Flags and environment: read once, checked, frozen. One table of options a command; `optionsText` prints it for `-h`, `optionsTable` for the README.
 *
 * - A flag may begin with one dash or two, its value may follow `=` or be the next argument; a flag given twice takes the last, lists collect.
 * - Options of `serve` can come from the environment: `-query.status.ttl` is LAKE_QUERY_STATUS_TTL. A flag wins over the environment.
 * - What is unknown or has a bad value is a ConfigError: one line for people; main prints it and ends with status 2.
 *
 * Nothing here reads files or the network.
 */
import { availableParallelism } from 'node:os';

/** A mistake on the command line or in the environment; `message` is one line for people. Exit status 2. */
export class ConfigError extends Error {
  readonly exitStatus = 2;
  constructor(message: string) {
    super(message);
    this.name = 'ConfigError';
  }
}

export type OptionType = 'text' | 'list' | 'switch' | 'integer' | 'bytes' | 'duration' | 'address';
/** One option. `fallback` is written as on the command line; `choices` and `least` bound the value; `value` names it in the help text. */
export interface OptionRow {
  readonly name: string;
  readonly type: OptionType;
  readonly fallback: string;
  readonly text: string;
  readonly value?: string;
  readonly choices?: readonly string[];
  readonly least?: number;
  readonly most?: number;
  /** Read from LAKE_* too. */
  readonly environment?: boolean;
}
export interface Address { readonly host: string; readonly port: number }
type OptionValue = string | readonly string[] | boolean | number | Address;

const responseFormats = ['arrows', 'bsup', 'csup', 'csv', 'json', 'jsup', 'line', 'ndjson', 'parquet', 'sup', 'tsv', 'zeek'] as const;
const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

const shared = { environment: true } as const;
const lakeRow: OptionRow = { name: 'lake', type: 'text', fallback: './lake-data', value: 'DIR', text: 'folder of the lake; made when it is not there', ...shared };
const tokenRow: OptionRow = { name: 'token', type: 'text', fallback: '', value: 'TOKEN', text: 'key or JSON Web Token for a service with access control', ...shared };

/** What `from` may read besides pools, in `lake serve` and `lake shell`. */
const fromOptions = [
  { name: 'from.files', type: 'list', fallback: '', value: 'DIR', text: 'folder whose files a query may read with from; may be repeated; none: no files', ...shared },
  { name: 'from.http', type: 'list', fallback: '', value: 'URL', text: 'HOST[:PORT] or beginning of a URL that a query may read with from; may be repeated; * is any public host, *.HOST the names below one, :* any port; private and loopback addresses only for a host that is named itself; none: no URLs', ...shared },
  { name: 'from.http.max', type: 'bytes', fallback: '1GiB', value: 'BYTES', least: 1, text: 'longest answer of a URL', ...shared },
  { name: 'from.http.time', type: 'duration', fallback: '1m', value: 'TIME', least: 1, text: 'how long one URL may keep a query waiting, all its pauses together', ...shared },
] as const satisfies readonly OptionRow[];

/** What readers of inputs take at most, in `lake serve` and `lake query`. */
const formatOptions = (more: Partial<OptionRow>): readonly OptionRow[] => [
  { name: 'value.max', type: 'bytes', fallback: '50MB', value: 'BYTES', least: 1024, most: 1 << 30, text: 'a single value or line of a text format', ...more },
  { name: 'csup.object.max', type: 'bytes', fallback: '256MiB', value: 'BYTES', least: 1024, most: 2 ** 31, text: 'one object of a CSUP input, which is kept whole, and what it expands to', ...more },
  { name: 'arrows.body.max', type: 'bytes', fallback: '512MiB', value: 'BYTES', least: 1024, most: 2 ** 31, text: 'the body of one Arrow message, which is kept whole, and what it expands to', ...more },
  { name: 'parquet.file.max', type: 'bytes', fallback: '1GiB', value: 'BYTES', least: 1024, most: 2 ** 32, text: 'a Parquet file, which is kept whole, since its table of contents comes last', ...more },
];

/** How far WITH RECURSIVE may go, in `lake serve` and `lake query`. */
const recursionOptions = (more: Partial<OptionRow>): readonly OptionRow[] => [
  { name: 'recursion.rounds.max', type: 'integer', fallback: '1000000', value: 'COUNT', least: 1, text: 'rounds of one WITH RECURSIVE; more end the query with an error', ...more },
  { name: 'recursion.rows.max', type: 'integer', fallback: '100000000', value: 'COUNT', least: 1, text: 'rows of one WITH RECURSIVE, all rounds together; more end the query with an error', ...more },
];

/** Who may use the service. */
const authOptions = [
  { name: 'auth.keys', type: 'switch', fallback: 'false', text: 'requests need a token: a key of lake key add, or one of -auth.domain', ...shared },
  { name: 'auth.domain', type: 'text', fallback: '', value: 'URL', text: 'requests need a token: a JSON Web Token of this issuer (RS256, ES256, EdDSA), or with -auth.keys a key', ...shared },
  { name: 'auth.audience', type: 'text', fallback: '', value: 'TEXT', text: 'what tokens must be made out for', ...shared },
  { name: 'auth.clientid', type: 'text', fallback: '', value: 'TEXT', text: 'told to clients that want to log in at the issuer', ...shared },
  { name: 'auth.jwks', type: 'text', fallback: '', value: 'URL', text: 'URL or file of the issuer\'s keys; default /.well-known/jwks.json of -auth.domain', ...shared },
  { name: 'auth.roles', type: 'text', fallback: 'roles', value: 'CLAIM', text: 'claim of a token that lists roles: reader, writer or admin, or with a pool writer:POOL', ...shared },
  { name: 'auth.skew', type: 'duration', fallback: '30s', value: 'TIME', text: 'how far the issuer\'s clock may be off', ...shared },
  { name: 'auth.session.ttl', type: 'duration', fallback: '12h', value: 'TIME', least: 1000, text: 'how long a browser\'s session lasts', ...shared },
  { name: 'insecure', type: 'switch', fallback: 'false', text: 'listen on an address that others can reach though there is no access control', ...shared },
  { name: 'audit', type: 'text', fallback: '', value: 'FILE', text: 'append a line of JSON for each request that changed something or was refused for who sent it', ...shared },
] as const satisfies readonly OptionRow[];

/** Options of `lake serve`. */
export const serveOptions = [
  lakeRow,
  { name: 'l', type: 'address', fallback: '127.0.0.1:9867', value: 'HOST:PORT', text: 'address to listen on; port 0 takes a free one', ...shared },
  { name: 'defaultfmt', type: 'text', fallback: 'sup', value: 'FORMAT', choices: responseFormats, text: 'format of responses to requests without Accept', ...shared },
  { name: 'log.level', type: 'text', fallback: 'info', value: 'LEVEL', choices: logLevels, text: 'least level that is logged', ...shared },
  { name: 'cors.origin', type: 'list', fallback: '', value: 'ORIGIN', text: 'origin (and host) that may use the service from elsewhere; may be repeated, * stands for anything', ...shared },
  { name: 'workers', type: 'integer', fallback: '0', value: 'COUNT', least: 0, most: 256, text: 'worker threads for loads and queries; 0: one per core; long loads use idle ones too', ...shared },
  { name: 'memory', type: 'bytes', fallback: '256MiB', value: 'BYTES', least: 16 << 20, text: 'budget of operators and caches: a query may hold half of it, the loads of one worker a quarter, before they spill or end with an error; a quarter, shared out among the workers, keeps decoded columns for later queries', ...shared },
  { name: 'query.status.ttl', type: 'duration', fallback: '10s', value: 'TIME', text: 'how long the status of a query that ended can be asked for', ...shared },
  { name: 'tasks.max', type: 'integer', fallback: '256', value: 'COUNT', least: 1, text: 'loads and queries at once, taking turns on the workers; more are refused with 503', ...shared },
  { name: 'connections.max', type: 'integer', fallback: '10000', value: 'COUNT', least: 1, text: 'open connections; more are closed at once', ...shared },
  { name: 'queue.max', type: 'integer', fallback: '10000', value: 'COUNT', least: 1, text: 'jobs that wait in one pool\'s queue; more are refused with 503', ...shared },
  { name: 'header.max', type: 'bytes', fallback: '1MiB', value: 'BYTES', least: 1024, most: 64 << 20, text: 'request line and headers, together', ...shared },
  { name: 'body.max', type: 'bytes', fallback: '1MiB', value: 'BYTES', least: 1024, most: 64 << 20, text: 'request bodies other than loads', ...shared },
  { name: 'body.idle', type: 'duration', fallback: '1m', value: 'TIME', least: 1, text: 'how long a request body may pause; then the request fails and its connection ends', ...shared },
  { name: 'header.time', type: 'duration', fallback: '30s', value: 'TIME', least: 1, text: 'how long a client may take for the headers of a request', ...shared },
  { name: 'name.max', type: 'bytes', fallback: '64KiB', value: 'BYTES', least: 64, most: 1 << 20, text: 'name of a pool or a branch', ...shared },
  { name: 'query.text.max', type: 'integer', fallback: '1000000', value: 'COUNT', least: 64, text: 'characters of a query', ...shared },
  { name: 'query.time', type: 'duration', fallback: '1h', value: 'TIME', text: 'how long a query may run, until its last byte is taken; 0s: as long as it likes', ...shared },
  { name: 'retry.keep', type: 'duration', fallback: '24h', value: 'TIME', least: 1000, text: 'how long the commit of a request with an Idempotency-Key is known', ...shared },
  { name: 'expanded.max', type: 'bytes', fallback: '64GiB', value: 'BYTES', least: 1 << 20, text: 'what a compressed request body may expand to', ...shared },
  { name: 'pack.objects', type: 'integer', fallback: '256', value: 'N', least: 0, text: 'so many small objects of a branch are packed in the background, so that scans read them as one; 0: never', ...shared },
  { name: 'query.share.rows', type: 'integer', fallback: '0', value: 'ROWS', least: 0, text: 'a query whose scan has so many rows is shared out over idle workers (sums of floats are then added up share by share); 0: never', ...shared },
  { name: 'warmup', type: 'duration', fallback: '1500ms', value: 'TIME', text: 'how long the service may warm up after the start, while it has nothing to do, so that the first requests find compiled code: workers run queries and loads over rows of their own, the main thread answers small requests for lakes of its own in a temporary folder; 0s: not at all', ...shared },
  { name: 'bsup.frame.max', type: 'bytes', fallback: '128MiB', value: 'BYTES', least: 1024, most: 2 ** 31, text: 'one frame of a BSUP input, before and after expansion', ...shared },
  ...formatOptions(shared),
  { name: 'types.max', type: 'integer', fallback: '100000', value: 'COUNT', least: 1, text: 'shapes of the values of one load: field names in order, kinds of containers, each at its place', ...shared },
  { name: 'columns.max', type: 'integer', fallback: '1000000', value: 'COUNT', least: 1, text: 'columns of one load: leaves of its shapes, by their type', ...shared },
  ...recursionOptions(shared),
  { name: 'events.max', type: 'integer', fallback: '1000', value: 'COUNT', least: 1, text: 'subscribers of /events', ...shared },
  { name: 'events.queue.max', type: 'integer', fallback: '1000', value: 'COUNT', least: 1, text: 'events that wait for one slow subscriber before it is closed', ...shared },
  { name: 'events.heartbeat', type: 'duration', fallback: '45s', value: 'TIME', text: 'pause between two heartbeat comments on /events; 0: none', ...shared },
  ...fromOptions,
  ...authOptions,
  { name: 'record', type: 'text', fallback: '', value: 'FILE', text: 'write every message that enters a machine to this file, for lake replay; a recording that is there is kept as FILE.before', ...shared },
  { name: 'record.bytes.max', type: 'bytes', fallback: '256MiB', value: 'BYTES', least: 4096, text: 'size of a file of the recording, about; then it becomes FILE.1 and a new one begins', ...shared },
  { name: 'record.files.max', type: 'integer', fallback: '8', value: 'COUNT', least: 1, most: 9999, text: 'files of the recording that are kept', ...shared },
  { name: 'record.bodies', type: 'switch', fallback: 'false', text: 'keep the bodies of loads too, in the folder FILE.bodies, and the rows of every branch at the end as a digest; without it, bodies are told by their digest alone', ...shared },
  { name: 'record.bodies.max', type: 'bytes', fallback: '1GiB', value: 'BYTES', least: 1, text: 'kept bodies, together; later ones are told by their digest alone', ...shared },
  { name: 'inspect', type: 'switch', fallback: 'true', text: 'keep the last 10,000 messages of the state machines, as ids and counts, and show them live on /inspect', ...shared },
  { name: 'inspect.max', type: 'integer', fallback: '16', value: 'COUNT', least: 1, most: 1000, text: 'pages and inspectors that watch at once; more are refused with 503', ...shared },
  { name: 'inspect.stately', type: 'text', fallback: '', value: 'URL', text: 'WebSocket of a Stately inspector that the messages are sent to as well, for instance ws://localhost:8080', ...shared },
  { name: 'trace.otlp', type: 'text', fallback: '', value: 'URL', text: 'collector that traces are sent to by OTLP over HTTP, for instance http://localhost:4318; OTEL_EXPORTER_OTLP_ENDPOINT says it too, OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES name the service', ...shared },
  { name: 'metrics.pools', type: 'integer', fallback: '100', value: 'COUNT', least: 0, text: 'pools that /metrics tells apart; the others are one sum', ...shared },
  { name: 'shutdown.grace', type: 'duration', fallback: '5s', value: 'TIME', text: 'how long requests may go on after the signal to end', ...shared },
] as const satisfies readonly OptionRow[];

/** Options of `lake shell`. */
export const shellOptions = [
  { name: 's', type: 'text', fallback: '', value: 'URL', text: 'address of the service; default http://127.0.0.1:9867' },
  tokenRow,
  { name: 'lake', type: 'text', fallback: '', value: 'DIR', text: 'open the lake in this folder instead; no service may have it open' },
  { name: 'use', type: 'text', fallback: '', value: 'POOL[@BRANCH]', text: 'what queries without from read' },
  { name: 'c', type: 'list', fallback: '', value: 'TEXT', text: 'run this query or command and end; may be repeated' },
  { name: 'mode', type: 'text', fallback: 'auto', value: 'MODE', choices: ['auto', 'table', 'sup', 'json', 'csv', 'tsv', 'line', 'zeek'], text: 'how results look: table, sup, json, csv, tsv, line or zeek; auto: a table at a terminal, else sup' },
  { name: 'e', type: 'switch', fallback: 'true', text: 'stop at the first query that fails, with exit status 1; not at a terminal' },
  { name: 'history', type: 'text', fallback: '', value: 'FILE', text: 'where queries typed at a terminal are kept; off: nowhere; default $XDG_STATE_HOME/lake/history or ~/.local/state/lake/history', ...shared },
  { name: 'q', type: 'switch', fallback: 'false', text: 'no greeting, no counts of rows behind results' },
  { name: 'workers', type: 'integer', fallback: '2', value: 'COUNT', least: 1, most: 256, text: 'with -lake: worker threads; with one, a query waits for one that was cancelled just before' },
  { name: 'memory', type: 'bytes', fallback: '256MiB', value: 'BYTES', least: 16 << 20, text: 'with -lake: budget of operators, as of lake serve' },
  ...fromOptions,
] as const satisfies readonly OptionRow[];

/** Options of `lake fsck`. */
export const fsckOptions = [
  lakeRow,
  { name: 'repair', type: 'switch', fallback: 'false', text: 'rebuilds the tables of a damaged lake from the copy of its commit log and its object files, and names what is lost' },
] as const satisfies readonly OptionRow[];

const inputOptions = [
  { name: 'i', type: 'text', fallback: 'auto', value: 'FORMAT', text: 'format of the input' },
  { name: 'csv.delim', type: 'text', fallback: ',', value: 'CHAR', text: 'field delimiter of CSV input' },
] as const satisfies readonly OptionRow[];

/** Options of `lake load`. */
export const loadOptions = [
  { name: 'lake', type: 'text', fallback: 'http://127.0.0.1:9867', value: 'URL', text: 'address of the service' },
  tokenRow,
  { name: 'use', type: 'text', fallback: '', value: 'POOL[@BRANCH]', text: 'where to load' },
  { name: 'user', type: 'text', fallback: '', value: 'TEXT', text: 'author of the commit' },
  { name: 'message', type: 'text', fallback: '', value: 'TEXT', text: 'message of the commit' },
  { name: 'meta', type: 'text', fallback: '', value: 'VALUE', text: 'SUP value kept with the commit' },
  ...inputOptions,
] as const satisfies readonly OptionRow[];

/** Options of `lake query`: those of the `super` command. The order of `-c` and `-I` is in `order` of the parsed options. */
export const queryOptions = [
  { name: 'c', type: 'list', fallback: '', value: 'TEXT', text: 'query text; may be repeated' },
  { name: 'I', type: 'list', fallback: '', value: 'FILE', text: 'file with query text; may be repeated' },
  { name: 'f', type: 'text', fallback: '', value: 'FORMAT', text: 'format of the output' },
  { name: 'o', type: 'text', fallback: '', value: 'FILE', text: 'where the output goes; default standard output' },
  { name: 's', type: 'switch', fallback: 'false', text: 'SUP, one value a line' },
  { name: 'S', type: 'switch', fallback: 'false', text: 'SUP over several lines' },
  { name: 'j', type: 'switch', fallback: 'false', text: 'JSON, one value a line' },
  { name: 'J', type: 'switch', fallback: 'false', text: 'JSON over several lines' },
  { name: 'pretty', type: 'integer', fallback: '2', value: 'WIDTH', least: 0, most: 1000, text: 'indent of SUP and JSON; 0: one value a line' },
  { name: 'e', type: 'switch', fallback: 'true', text: 'stop at input errors' },
  { name: 'q', type: 'switch', fallback: 'false', text: 'no warnings' },
  { name: 'noheader', type: 'switch', fallback: 'false', text: 'no header line in CSV and TSV' },
  { name: 'dynamic', type: 'switch', fallback: 'false', text: 'do not sample the input\'s types before compiling' },
  { name: 'samplesize', type: 'integer', fallback: '1000', value: 'COUNT', text: 'values sampled per input before compiling; -1: all, 0: none' },
  { name: 'persist', type: 'text', fallback: '', value: 'REGEXP', text: 'names of types that stay defined over the whole SUP output' },
  { name: 'B', type: 'switch', fallback: 'false', text: 'binary output to a terminal is allowed' },
  { name: 'unbuffered', type: 'switch', fallback: 'false', text: 'write each batch at once, which is always so' },
  { name: 'stats', type: 'switch', fallback: 'false', text: 'statistics on standard error' },
  { name: 'split', type: 'text', fallback: '', value: 'DIR', text: 'one output file for each type, in this folder' },
  { name: 'splitsize', type: 'bytes', fallback: '0', value: 'BYTES', text: 'with -split: files of at least this size instead' },
  { name: 'aggmem', type: 'bytes', fallback: '256MiB', value: 'BYTES', text: 'memory of aggregates before they spill; of -aggmem, -sortmem and -fusemem the largest given counts for all' },
  { name: 'sortmem', type: 'bytes', fallback: '256MiB', value: 'BYTES', text: 'memory of a sort or join before it spills' },
  { name: 'fusemem', type: 'bytes', fallback: '256MiB', value: 'BYTES', text: 'memory of fuse before it spills' },
  { name: 'bsup.compress', type: 'switch', fallback: 'true', text: 'compress BSUP frames' },
  { name: 'bsup.framethresh', type: 'integer', fallback: '524288', value: 'BYTES', text: 'least size of a BSUP frame' },
  { name: 'bsup.readmax', type: 'bytes', fallback: '1GiB', value: 'BYTES', text: 'longest BSUP frame that is read' },
  ...formatOptions({}),
  ...recursionOptions({}),
  { name: 'from.http', type: 'list', fallback: '', value: 'URL', text: 'only these hosts or beginnings of URLs may be read, as in lake serve; may be repeated; default any URL' },
  ...inputOptions,
] as const satisfies readonly OptionRow[];

/** Options as given: value by name, which names were given, list items in the order in which they came, and what is no option. */
export interface ParsedOptions {
  readonly values: Readonly<Record<string, OptionValue>>;
  readonly given: ReadonlySet<string>;
  readonly order: readonly { readonly name: string; readonly value: string }[];
  readonly rest: readonly string[];
  /** -h or -help was there: nothing else counts. */
  readonly help: boolean;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads `argv` against a table; options end at the first argument that is none, or at `--`. @throws ConfigError */
export const parseOptions = (rows: readonly OptionRow[], argv: readonly string[], environment: Environment = {}): ParsedOptions => {
  const byName = new Map(rows.map((row) => [row.name, row]));
  const values: Record<string, OptionValue> = {};
  const given = new Set<string>();
  const lists = new Map<string, string[]>();
  const order: { name: string; value: string }[] = [];
  for (const row of rows) {
    const variable = environmentName(row.name);
    const text = row.environment ? environment[variable] : undefined;
    if (text !== undefined && text !== '') {
      given.add(row.name);
      values[row.name] = row.type === 'list' ? text.split(',').map((item) => item.trim()).filter((item) => item !== '') : parseValue(row, text, variable);
    } else values[row.name] = row.type === 'list' ? [] : parseValue(row, row.fallback, `-${row.name}`);
  }
  let at = 0, help = false;
  for (; at < argv.length; at++) {
    const argument = argv[at]!;
    if (argument === '--') {
      at++;
      break;
    }
    if (!argument.startsWith('-') || argument === '-') break;
    const { name, inline } = splitFlag(argument);
    if (name === 'h' || name === 'help') {
      help = true;
      continue;
    }
    const row = byName.get(name);
    if (!row) throw new ConfigError(`unknown option: ${argument}${suggestion(name, rows)}`);
    let text = inline;
    if (text === undefined && row.type === 'switch') text = 'true';
    if (text === undefined) {
      if (++at >= argv.length) throw new ConfigError(`option -${name} needs a value`);
      text = argv[at]!;
    }
    given.add(name);
    if (row.type === 'list') {
      const items = lists.get(name) ?? [];
      items.push(text);
      lists.set(name, items);
      values[name] = items;
      order.push({ name, value: text });
    } else values[name] = parseValue(row, text, `-${name}`);
  }
  return { values, given, order, rest: argv.slice(at), help };
};

const splitFlag = (argument: string): { readonly name: string; readonly inline: string | undefined } => {
  const bare = argument.replace(/^--?/, '');
  const equals = bare.indexOf('=');
  return equals < 0 ? { name: bare, inline: undefined } : { name: bare.slice(0, equals), inline: bare.slice(equals + 1) };
};

/** `-query.status.ttl` -> LAKE_QUERY_STATUS_TTL. */
export const environmentName = (option: string): string => `LAKE_${option.toUpperCase().replaceAll('.', '_')}`;

const suggestion = (name: string, rows: readonly OptionRow[]): string => {
  const close = rows.find((row) => row.name.length > 2 && (row.name.replaceAll(/[.-]/g, '') === name.replaceAll(/[.-]/g, '').toLowerCase() || row.name.startsWith(`${name}.`)));
  return close ? ` (did you mean -${close.name}?)` : ' (lake help lists them)';
};

const parseValue = (row: OptionRow, text: string, label: string): OptionValue => {
  const bad = (wanted: string): ConfigError => new ConfigError(`bad value for ${label}: ${JSON.stringify(text)} (${wanted})`);
  switch (row.type) {
    case 'text':
      if (row.choices && !row.choices.includes(text)) throw bad(`one of ${row.choices.join(', ')}`);
      return text;
    case 'list': return [text];
    case 'switch':
      if (/^(1|t|true)$/i.test(text)) return true;
      if (/^(0|f|false)$/i.test(text)) return false;
      throw bad('true or false');
    case 'integer': {
      const n = Number(text);
      if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(n)) throw bad('a whole number');
      return bounded(row, n, bad);
    }
    case 'bytes': {
      const n = parseBytes(text);
      if (n === undefined) throw bad('a number of bytes such as 65536, 64KiB or 256MB');
      return bounded(row, n, bad);
    }
    case 'duration': {
      const n = parseDurationMs(text);
      if (n === undefined) throw bad('a time such as 500ms, 10s or 2m');
      return bounded(row, n, bad);
    }
    case 'address': {
      const address = parseAddress(text);
      if (!address) throw bad('HOST:PORT with a port of 0 to 65535');
      return address;
    }
  }
};

const bounded = (row: OptionRow, n: number, bad: (wanted: string) => ConfigError): number => {
  if (row.least !== undefined && n < row.least) throw bad(`at least ${row.least}`);
  if (row.most !== undefined && n > row.most) throw bad(`at most ${row.most}`);
  return n;
};

const byteUnits: Readonly<Record<string, number>> = {
  '': 1, b: 1, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30, tib: 2 ** 40, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30,
};
/** Bytes of `64KiB`, `256MB`, `1.5GiB`, `100`; undefined if the text is none. */
export const parseBytes = (text: string): number | undefined => {
  const parts = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim());
  const unit = parts ? byteUnits[parts[2]!.toLowerCase()] : undefined;
  if (!parts || unit === undefined) return undefined;
  const n = Math.round(Number(parts[1]) * unit);
  return Number.isSafeInteger(n) ? n : undefined;
};

const durationUnits: Readonly<Record<string, number>> = { ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5 };
/** Milliseconds of `500ms`, `10s`, `1m30s`, `0`; undefined if the text is none. */
export const parseDurationMs = (text: string): number | undefined => {
  if (text === '0') return 0;
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, count, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) total += Number(count) * durationUnits[unit!]!;
  return total <= 2 ** 31 - 1 ? total : undefined;
};

/** `HOST:PORT`, `[v6]:PORT` or `:PORT` (all addresses); undefined if the text is none. */
export const parseAddress = (text: string): Address | undefined => {
  const parts = /^(?:\[([0-9a-f:.%a-z]+)\]|([^:[\]\s]*)):(\d{1,5})$/i.exec(text);
  const port = parts ? Number(parts[3]) : NaN;
  if (!parts || !(port <= 65535)) return undefined;
  return { host: parts[1] ?? (parts[2] === '' ? '0.0.0.0' : parts[2]!), port };
};

/** What `lake serve` runs with. Times are in milliseconds, sizes in bytes. */
export interface ServeConfig {
  readonly lakeDirectory: string;
  readonly listen: Address;
  readonly defaultFormat: (typeof responseFormats)[number];
  readonly logLevel: LogLevel;
  readonly corsOrigins: readonly string[];
  readonly workerCount: number;
  readonly memoryBytesMax: number;
  readonly queryStatusMs: number;
  readonly tasksMax: number;
  /** Infinity: never. */
  readonly queryShareRowsMin: number;
  /** 0: workers do not warm up. */
  readonly warmUpMs: number;
  /** 0: small objects are not packed. */
  readonly packObjectsMin: number;
  readonly connectionsMax: number;
  readonly queueJobsMax: number;
  readonly headerBytesMax: number;
  readonly bodyBytesMax: number;
  readonly retryKeepMs: number;
  readonly bodyIdleMsMax: number;
  readonly headerMsMax: number;
  readonly nameBytesMax: number;
  /** In characters. */
  readonly queryTextMax: number;
  /** 0: no limit. */
  readonly queryMsMax: number;
  readonly expandedBytesMax: number;
  readonly subscribersMax: number;
  readonly subscriberEventsMax: number;
  readonly heartbeatMs: number;
  /** Absent: nothing is traced. */
  readonly trace?: TraceConfig;
  readonly metricsPoolsMax: number;
  readonly shutdownMs: number;
  readonly from: FromConfig;
  readonly formatLimits: FormatLimitsConfig;
  readonly recursion: RecursionConfig;
  /** `file` is empty when nothing is to be recorded. */
  readonly record: RecordConfig;
  readonly inspect: InspectConfig;
  readonly auth: AuthConfig;
  /** Listens anywhere without access control. */
  readonly insecure: boolean;
  /** Empty for none. */
  readonly auditFile: string;
}
/** Access control is on with `keys` or a `domain`, which is the issuer of tokens, empty for none. */
export interface AuthConfig {
  readonly keys: boolean;
  readonly domain: string;
  readonly audience: string;
  readonly clientId: string;
  readonly keysFrom: string;
  readonly rolesClaim: string;
  readonly skewMs: number;
  readonly sessionMs: number;
}
/** Where traces go, and as whose. `url` is that of the traces themselves. */
export interface TraceConfig { readonly url: string; readonly service: string; readonly resource: Readonly<Record<string, string>> }
/** From the option, else from the variables that OpenTelemetry's specification names. @throws ConfigError for what is no URL */
const traceConfig = (option: string, environment: Environment): { readonly trace?: TraceConfig } => {
  const variable = (name: string): string => environment[name] ?? '', own = variable('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'), base = variable('OTEL_EXPORTER_OTLP_ENDPOINT');
  const given = option || own || base, label = option ? '-trace.otlp' : own ? 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' : 'OTEL_EXPORTER_OTLP_ENDPOINT';
  if (given === '' || (option === '' && /^true$/i.test(variable('OTEL_SDK_DISABLED')))) return {};
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw new ConfigError(`bad value for ${label}: ${JSON.stringify(given)} (a URL such as http://localhost:4318)`);
  // A base has the path of traces added; the option is one if it has no path.
  if (option ? url.pathname === '/' : !own) url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`;
  const pairs = variable('OTEL_RESOURCE_ATTRIBUTES').split(',').map((pair) => pair.split('=')).filter(([key = '', value]) => key.trim() !== '' && value !== undefined);
  const resource = Object.fromEntries(pairs.map(([key = '', ...value]) => [key.trim(), percentDecoded(value.join('=').trim())]));
  return { trace: Object.freeze({ url: url.href, service: variable('OTEL_SERVICE_NAME') || resource['service.name'] || 'lake-data-service', resource: Object.freeze(Object.fromEntries(Object.entries(resource).filter(([key]) => key !== 'service.name'))) }) };
};
const percentDecoded = (text: string): string => {
  try { return decodeURIComponent(text); } catch { return text; }
};
/** What `lake serve` shows of its machines. `stately` is empty when no inspector is to be connected to. */
export interface InspectConfig { readonly on: boolean; readonly watchersMax: number; readonly stately: string }
/** What `lake serve` records. */
export interface RecordConfig { readonly file: string; readonly fileBytesMax: number; readonly filesMax: number; readonly keepBodies: boolean; readonly bodyBytesMax: number }
/** What readers of inputs take at most. */
export interface FormatLimitsConfig {
  readonly valueBytesMax: number;
  readonly bsupFrameBytesMax: number;
  readonly csupObjectBytesMax: number;
  readonly arrowBodyBytesMax: number;
  readonly parquetFileBytesMax: number;
  /** Of loads alone. */
  readonly typesMax?: number;
  readonly columnsMax?: number;
}
/** How far WITH RECURSIVE may go, of the options of `lake serve` or `lake query`. */
export interface RecursionConfig { readonly rounds: number; readonly rows: number }
export const recursionLimits = (values: ParsedOptions['values']): RecursionConfig =>
  Object.freeze({ rounds: values['recursion.rounds.max'] as number, rows: values['recursion.rows.max'] as number });
/** The limits among the options of `lake serve` or `lake query`. */
export const formatLimits = (values: ParsedOptions['values']): FormatLimitsConfig => Object.freeze({
  valueBytesMax: values['value.max'] as number, bsupFrameBytesMax: (values['bsup.frame.max'] ?? values['bsup.readmax']) as number, csupObjectBytesMax: values['csup.object.max'] as number,
  arrowBodyBytesMax: values['arrows.body.max'] as number, parquetFileBytesMax: values['parquet.file.max'] as number,
});
/** What `from` may read besides pools, as given: folders, hosts and URLs are not looked at yet. */
export interface FromConfig { readonly files: readonly string[]; readonly http: readonly string[]; readonly httpBytesMax: number; readonly httpMsMax: number }
/** The `-from` options of a table that has them. */
export const fromConfig = (values: ParsedOptions['values']): FromConfig => Object.freeze({
  files: Object.freeze([...(values['from.files'] as readonly string[])]), http: Object.freeze([...(values['from.http'] as readonly string[])]),
  httpBytesMax: values['from.http.max'] as number, httpMsMax: values['from.http.time'] as number,
});

/** The command line asks for help instead of work. */
export interface HelpRequest { readonly help: string }

/** Options of `lake serve` from flags and environment. @throws ConfigError */
export const parseServe = (argv: readonly string[], environment: Environment = {}): ServeConfig | HelpRequest => {
  const { values, rest, help } = parseOptions(serveOptions, argv, environment);
  if (help) return { help: optionsText('serve', serveOptions) };
  noMore('serve', rest);
  const number = (name: string): number => values[name] as number;
  return Object.freeze({
    lakeDirectory: values['lake'] as string,
    listen: Object.freeze(values['l'] as Address),
    defaultFormat: values['defaultfmt'] as ServeConfig['defaultFormat'],
    logLevel: values['log.level'] as LogLevel,
    corsOrigins: Object.freeze([...(values['cors.origin'] as readonly string[])]),
    workerCount: number('workers') || availableParallelism(),
    memoryBytesMax: number('memory'),
    queryStatusMs: number('query.status.ttl'),
    tasksMax: number('tasks.max'),
    queryShareRowsMin: number('query.share.rows') || Infinity,
    warmUpMs: number('warmup'),
    packObjectsMin: number('pack.objects'),
    connectionsMax: number('connections.max'),
    queueJobsMax: number('queue.max'),
    headerBytesMax: number('header.max'),
    bodyBytesMax: number('body.max'),
    retryKeepMs: number('retry.keep'), bodyIdleMsMax: number('body.idle'), headerMsMax: number('header.time'), nameBytesMax: number('name.max'), queryTextMax: number('query.text.max'), queryMsMax: number('query.time'),
    expandedBytesMax: number('expanded.max'),
    subscribersMax: number('events.max'),
    subscriberEventsMax: number('events.queue.max'),
    heartbeatMs: number('events.heartbeat'),
    ...traceConfig(values['trace.otlp'] as string, environment),
    metricsPoolsMax: number('metrics.pools'),
    shutdownMs: number('shutdown.grace'),
    from: fromConfig(values),
    formatLimits: Object.freeze({ ...formatLimits(values), typesMax: number('types.max'), columnsMax: number('columns.max') }), recursion: recursionLimits(values),
    inspect: inspectConfig(values),
    auth: authConfig(values), insecure: values['insecure'] as boolean, auditFile: values['audit'] as string,
    record: Object.freeze({
      file: values['record'] as string, fileBytesMax: number('record.bytes.max'), filesMax: number('record.files.max'), keepBodies: values['record.bodies'] as boolean, bodyBytesMax: number('record.bodies.max'),
    }),
  });
};

/** Options of `lake key`. */
export const keyOptions = [
  lakeRow,
  { name: 'role', type: 'list', fallback: '', value: 'ROLE[:POOL]', text: 'add: reader, writer or admin of the lake, or of one pool, by name or id; may be repeated' },
  { name: 'ttl', type: 'duration', fallback: '0s', value: 'TIME', text: 'add: how long the key is good for; 0s: until it is revoked' },
] as const satisfies readonly OptionRow[];

/** Options of `lake replay`. */
export const replayOptions = [
  { name: 'lake', type: 'text', fallback: '', value: 'DIR', text: 'replay against the whole service too, on a fresh lake in this folder, which must be empty or absent' },
  { name: 'memory', type: 'bytes', fallback: '256MiB', value: 'BYTES', least: 16 << 20, text: 'with -lake: budget of operators, as of lake serve' },
] as const satisfies readonly OptionRow[];
export interface ReplayConfig { readonly files: readonly string[]; readonly lakeDirectory: string; readonly memoryBytesMax: number }
/** Options of `lake replay`. @throws ConfigError */
export const parseReplay = (argv: readonly string[]): ReplayConfig | HelpRequest => {
  const files: string[] = [], values: Record<string, OptionValue> = { ...parseOptions(replayOptions, []).values };
  // Options may stand before the files and behind them.
  for (let rest = argv; ;) {
    const parsed = parseOptions(replayOptions, rest);
    if (parsed.help) return { help: optionsText('replay', replayOptions) };
    for (const name of parsed.given) values[name] = parsed.values[name]!;
    if (parsed.rest.length === 0) break;
    files.push(parsed.rest[0]!);
    rest = parsed.rest.slice(1);
  }
  if (files.length === 0) throw new ConfigError('lake replay needs a recording or a scenario');
  const lakeDirectory = values['lake'] as string;
  if (files.length > 1 && lakeDirectory !== '') throw new ConfigError('lake replay -lake takes one file: each needs a fresh lake');
  return Object.freeze({ files: Object.freeze(files), lakeDirectory, memoryBytesMax: values['memory'] as number });
};

const authConfig = (values: ParsedOptions['values']): AuthConfig => {
  const text = (name: string): string => values[name] as string, domain = text('auth.domain');
  if (domain !== '' && (!/^https?:\/\//i.test(domain) || !URL.canParse(domain))) throw new ConfigError(`bad value for -auth.domain: ${JSON.stringify(domain)} (an https:// address)`);
  if (domain !== '' && text('auth.audience') === '') throw new ConfigError('-auth.domain needs -auth.audience: else a token for any other service of that issuer would do');
  return Object.freeze({
    keys: values['auth.keys'] as boolean, domain, audience: text('auth.audience'), clientId: text('auth.clientid'),
    keysFrom: text('auth.jwks') || `${domain.replace(/\/+$/, '')}/.well-known/jwks.json`, rolesClaim: text('auth.roles'), skewMs: values['auth.skew'] as number, sessionMs: values['auth.session.ttl'] as number,
  });
};

const inspectConfig = (values: ParsedOptions['values']): InspectConfig => {
  const stately = values['inspect.stately'] as string;
  if (stately !== '' && (!/^wss?:\/\//i.test(stately) || !URL.canParse(stately))) throw new ConfigError(`bad value for -inspect.stately: ${JSON.stringify(stately)} (a ws:// or wss:// address)`);
  return Object.freeze({ on: values['inspect'] as boolean, watchersMax: values['inspect.max'] as number, stately });
};

export interface FsckConfig { readonly lakeDirectory: string; readonly repair: boolean }
/** Options of `lake fsck`. @throws ConfigError */
export const parseFsck = (argv: readonly string[], environment: Environment = {}): FsckConfig | HelpRequest => {
  const { values, rest, help } = parseOptions(fsckOptions, argv, environment);
  if (help) return { help: optionsText('fsck', fsckOptions) };
  noMore('fsck', rest);
  return Object.freeze({ lakeDirectory: values['lake'] as string, repair: values['repair'] as boolean });
};

const noMore = (command: string, rest: readonly string[]): void => {
  if (rest.length > 0) throw new ConfigError(`lake ${command} takes options only: ${JSON.stringify(rest[0])} is none`);
};

/** Commands of the program, with the line that `lake help` prints. */
export const commands = [
  { name: 'serve', text: 'runs the service', options: serveOptions, usage: '' },
  { name: 'query', text: 'runs a query over files or standard input, without a service', options: queryOptions, usage: ' [FILE ...]' },
  { name: 'load', text: 'loads files into a branch of a running service', options: loadOptions, usage: ' FILE ...' },
  { name: 'shell', text: 'asks a running service, or a lake that it opens itself', options: shellOptions, usage: '' },
  { name: 'fsck', text: 'checks a lake that no service has open, repairs it', options: fsckOptions, usage: '' },
  { name: 'key', text: 'adds, lists and revokes the API keys of a lake', options: keyOptions, usage: ' add, list, revoke [NAME ...]' },
  { name: 'replay', text: 'runs a recording or a scenario again and compares', options: replayOptions, usage: ' FILE ...' },
] as const;

/** The text of `lake help`. */
export const helpText = (): string =>
  ['usage: lake COMMAND [OPTION ...]', '', ...commands.map((c) => `  ${c.name.padEnd(7)}${c.text}`), '', 'lake COMMAND -h lists the options of a command.', ''].join('\n');

/** The text of `lake COMMAND -h`. */
export const optionsText = (command: string, rows: readonly OptionRow[]): string => {
  const usage = commands.find((c) => c.name === command)?.usage ?? '';
  const left = (row: OptionRow): string => `-${row.name}${row.value ? ` ${row.value}` : ''}`;
  const width = Math.max(...rows.map((row) => left(row).length)) + 2;
  const lines = rows.map((row) => `  ${left(row).padEnd(width)}${row.text}${row.type === 'switch' && row.fallback === 'false' ? '' : row.fallback ? ` (default ${row.fallback})` : ''}`);
  const note = rows.some((row) => row.environment) ? ['', `Options can come from the environment too: -${rows[0]!.name} is ${environmentName(rows[0]!.name)}.`] : [];
  return [`usage: lake ${command} [OPTION ...]${usage}`, '', ...lines, ...note, ''].join('\n');
};

/** The options of a table as rows of a Markdown table, for the README. */
export const optionsTable = (rows: readonly OptionRow[]): string =>
  ['| Option | Environment | Default | Meaning |', '|---|---|---|---|',
    ...rows.map((row) => `| \`-${row.name}${row.value ? ` ${row.value}` : ''}\` | ${row.environment ? `\`${environmentName(row.name)}\`` : ''} | ${row.fallback ? `\`${row.fallback}\`` : ''} | ${row.text.replaceAll('|', '\\|')} |`),
  ].join('\n');
