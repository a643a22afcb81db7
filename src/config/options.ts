/**
 * Command lines and environments against tables of options.
 *
 * - A flag may begin with one dash or two, its value may follow `=` or be the next argument; a flag given twice takes
 *   the last, lists collect.
 * - Options marked so in their table can come from the environment: `-query.status.ttl` is LAKE_QUERY_STATUS_TTL. A
 *   flag wins over the environment.
 * - What is unknown or has a bad value is a ConfigError: one line for people; main prints it and ends with status 2.
 *
 * Nothing in this folder reads files or the network.
 */

/** A mistake on the command line or in the environment; `message` is one line for people. Exit status 2. */
export class ConfigError extends Error {
  readonly exitStatus = 2;
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ConfigError';
  }
}

/** How the text of an option is read. `bytes` takes units such as KiB, `duration` such as ms. */
type OptionType = 'text' | 'list' | 'switch' | 'integer' | 'bytes' | 'duration';
/**
 * One option. `fallback` is written as on the command line; `choices`, `least` and `most` bound the value; `value`
 * names it in the help text.
 */
export interface OptionRow {
  readonly name: string;
  readonly type: OptionType;
  readonly fallback: string;
  readonly text: string;
  readonly value?: string;
  readonly choices?: readonly string[];
  readonly least?: number;
  /** Of durations in milliseconds; default: what a timer can wait. */
  readonly most?: number;
  /** Read from LAKE_* too. */
  readonly environment?: boolean;
}
/** A host and a port. */
export interface Address {
  readonly host: string;
  readonly port: number;
}
/** The values of options: of lists their items, of sizes bytes, of times milliseconds. */
interface ValueByType {
  readonly text: string;
  readonly list: readonly string[];
  readonly switch: boolean;
  readonly integer: number;
  readonly bytes: number;
  readonly duration: number;
}
/** The value of any option. */
type OptionValue = ValueByType[OptionType];
type ValueOf<Row extends OptionRow> = Row extends { readonly choices: readonly (infer Choice)[] }
  ? Choice
  : ValueByType[Row['type']];
/** The values of a table's options by their names, as its rows say. */
export type OptionValues<Rows extends readonly OptionRow[]> = {
  readonly [Row in Rows[number] as Row['name']]: ValueOf<Row>;
};

/** The command line asks for help instead of work. */
export interface HelpRequest {
  readonly help: string;
}

/**
 * Options as given: value by name, which names were given, list items in the order in which they came, and what is no
 * option.
 */
export interface ParsedOptions<Rows extends readonly OptionRow[]> {
  readonly values: OptionValues<Rows>;
  readonly given: ReadonlySet<string>;
  readonly order: readonly { readonly name: string; readonly value: string }[];
  readonly rest: readonly string[];
  /** -h or -help was there: nothing else counts. */
  readonly help: boolean;
}

/** Variables of the environment by name. */
export type Environment = Readonly<Record<string, string | undefined>>;
/** Options out of a file of that name: those that can come from the environment, by their own names. */
export interface FileOptions {
  readonly file: string;
  readonly texts: ReadonlyMap<string, string>;
}

/**
 * Reads `argv` against a table: what is no option stays in its order, and so does all behind `--`. A flag wins over the
 * environment, that over the file. @throws ConfigError
 */
export const parseOptions = <const Rows extends readonly OptionRow[]>(
  rows: Rows,
  argv: readonly string[],
  environment: Environment = {},
  fromFile?: FileOptions,
): ParsedOptions<Rows> => {
  const byName = new Map(rows.map((row) => [row.name, row]));
  const values: Record<string, OptionValue> = {};
  const given = new Set<string>();
  const lists = new Map<string, string[]>();
  const order: { name: string; value: string }[] = [];
  for (const row of rows) {
    const [label, text] = outsideText(row, environment, fromFile);
    if (text !== undefined && text !== '') {
      given.add(row.name);
      values[row.name] =
        row.type === 'list'
          ? text
              .split(',')
              .map((item) => item.trim())
              .filter((item) => item !== '')
          : parseValue(row, text, label);
    } else values[row.name] = row.type === 'list' ? [] : parseValue(row, row.fallback, `-${row.name}`);
  }
  const rest: string[] = [];
  let help = false;
  for (let at = 0; at < argv.length; at++) {
    const argument = argv[at];
    if (argument === '--') {
      rest.push(...argv.slice(at + 1));
      break;
    }
    if (!looksLikeFlag(argument)) {
      rest.push(argument);
      continue;
    }
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
      text = argv[at];
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
  // By now each row has a value of its type.
  return { values: values as OptionValues<Rows>, given, order, rest, help };
};

/** Not `-`, nor a negative number: a query may be one. */
const looksLikeFlag = (argument: string): boolean => /^--?[a-z]/i.test(argument);

/** What environment or file say of an option, and how that place is called. */
const outsideText = (
  { name, environment: isOutside = false }: OptionRow,
  environment: Environment,
  fromFile: FileOptions | undefined,
): readonly [label: string, text: string | undefined] => {
  const variable = environmentName(name);
  if (!isOutside) return [variable, undefined];
  const text = environment[variable];
  if ((text !== undefined && text !== '') || !fromFile) return [variable, text];
  return [`${name} in ${fromFile.file}`, fromFile.texts.get(name)];
};

/** Arguments that are no options are an error. @throws ConfigError */
export const noMore = (command: string, rest: readonly string[]): void => {
  if (rest.length > 0) throw new ConfigError(`lake ${command} takes options only: ${JSON.stringify(rest[0])} is none`);
};

const splitFlag = (argument: string): { readonly name: string; readonly inline: string | undefined } => {
  const bare = argument.replace(/^--?/, '');
  const equals = bare.indexOf('=');
  return equals < 0
    ? { name: bare, inline: undefined }
    : { name: bare.slice(0, equals), inline: bare.slice(equals + 1) };
};

/** `-query.status.ttl` -> LAKE_QUERY_STATUS_TTL. */
export const environmentName = (option: string): string => `LAKE_${option.toUpperCase().replaceAll('.', '_')}`;

const suggestion = (name: string, rows: readonly OptionRow[]): string => {
  const close = rows.find(
    (row) =>
      row.name.length > 2 &&
      (row.name.replaceAll(/[.-]/g, '') === name.replaceAll(/[.-]/g, '').toLowerCase() ||
        row.name.startsWith(`${name}.`)),
  );
  return close ? ` (did you mean -${close.name}?)` : ' (lake help lists them)';
};

const parseValue = (row: OptionRow, text: string, label: string): OptionValue => {
  const bad = (wanted: string): ConfigError =>
    new ConfigError(`bad value for ${label}: ${JSON.stringify(text)} (${wanted})`);
  switch (row.type) {
    case 'text':
      if (row.choices && !row.choices.includes(text)) throw bad(`one of ${row.choices.join(', ')}`);
      return text;
    case 'list':
      return [text];
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
  }
};

/** The longest that is given to a timer: those of JavaScript take 31 bits of milliseconds, a little more than this. */
const timerMsMax = 24 * 864e5;

const bounded = (row: OptionRow, n: number, bad: (wanted: string) => ConfigError): number => {
  const isDuration = row.type === 'duration';
  const { least, most = isDuration ? timerMsMax : undefined } = row;
  const shown = isDuration ? durationText : String;
  if (least !== undefined && n < least) throw bad(`at least ${shown(least)}`);
  if (most !== undefined && n > most) throw bad(`at most ${shown(most)}`);
  return n;
};

const byteUnits: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
  k: 2 ** 10,
  m: 2 ** 20,
  g: 2 ** 30,
};
/** Bytes of `64KiB`, `256MB`, `1.5GiB`, `100`; undefined if the text is none. */
export const parseBytes = (text: string): number | undefined => {
  const parts = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim());
  const unit = parts ? byteUnits[parts[2].toLowerCase()] : undefined;
  if (!parts || unit === undefined) return undefined;
  const given = Number(parts[1]) * unit;
  const n = Math.round(given);
  // Zero often means no limit at all: what is less than a byte is not that.
  return Number.isSafeInteger(n) && (n > 0 || given === 0) ? n : undefined;
};

const durationUnits: Readonly<Record<string, number>> = { ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5 };
/** Milliseconds of `500ms`, `10s`, `1m30s`, `0`; undefined if the text is none. */
export const parseDurationMs = (text: string): number | undefined => {
  if (text === '0') return 0;
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, count, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g))
    total += Number(count) * durationUnits[unit];
  return total;
};
/** `5s` of 5000: whole milliseconds in the greatest unit that takes them whole. */
const durationText = (ms: number): string => {
  const [unit, each] = Object.entries(durationUnits).findLast(([, size]) => ms % size === 0)!;
  return `${ms / each}${unit}`;
};

/** `HOST:PORT`, `[v6]:PORT` or `:PORT` (all addresses); undefined if the text is none. */
export const parseAddress = (text: string): Address | undefined => {
  const parts = /^(?:\[([0-9a-f:.%a-z]+)\]|([^:[\]\s]*)):(\d{1,5})$/i.exec(text);
  const port = parts ? Number(parts[3]) : NaN;
  if (!parts || !(port <= 65535)) return undefined;
  return { host: parts[1] ?? (parts[2] === '' ? '0.0.0.0' : parts[2]), port };
};
