/** What to write instead: names that are close to one that nobody knows, and words of other query languages. */

/** A name of another language and what stands for it here. */
type Foreign = Readonly<Record<string, string>>;

/** Functions of SQL dialects and pipe languages that have another name or form here. */
export const foreignFunctions: Foreign = {
  average: 'avg(v)',
  countd: 'dcount(v)',
  count_distinct: 'count(distinct v)',
  group_array: 'collect(v)',
  nextval: 'ksuid()',
  newid: 'ksuid()',
  to_upper: 'upper(s)',
  to_lower: 'lower(s)',
  size: 'len(v)',
  mid: 'substr(s, start, length)',
  locate: 'strpos(s, sub)',
  index_of: 'strpos(s, sub)',
  strip: 'trim(s)',
  regexp_match: 'regexp(re, s)',
  regexp_like: 'regexp_matches(s, re)',
  isnull: 'v is null',
  nvl: 'ifnull(a, b)',
  iif: 'if(test, a, b)',
  to_char: 'strftime(format, t)',
  date_format: 'strftime(format, t)',
  format_time: 'strftime(format, t)',
  to_date: 'v::time',
  subdate: "t - interval '1 day'",
  date_add: "t + interval '1 day'",
  dateadd: "t + interval '1 day'",
  adddate: "t + interval '1 day'",
  timestampadd: "t + interval '1 day'",
  timestampdiff: "date_diff('day', a, b)",
  curdate: 'current_date()',
  sysdate: 'now()',
  unix_timestamp: 'epoch(t)',
  from_unixtime: 'to_timestamp(seconds)',
  months_between: "date_diff('month', a, b)",
  getdate: 'now()',
  int: 'v::int64',
  int64: 'v::int64',
  float: 'v::float64',
  float64: 'v::float64',
  string: 'v::string',
  str: 'v::string',
  to_string: 'v::string',
  to_int: 'v::int64',
  parse_json: 'parse_sup(s)',
  from_json: 'parse_sup(s)',
  json_parse: 'parse_sup(s)',
  parse_zson: 'parse_sup(s)',
  type: 'typeof(v)',
  type_of: 'typeof(v)',
  pg_typeof: 'typeof(v)',
  setseed: 'tablesample 10% repeatable (7), which draws the same rows each time',
  keys: 'fields(r)',
  object_keys: 'fields(r)',
  network: 'network_of(ip, mask)',
  edit_distance: 'levenshtein(a, b)',
};

/** Operators of other pipe languages. */
export const foreignOperators: Foreign = {
  filter: 'where EXPR',
  project: 'cut FIELD, ...',
  fields: 'cut FIELD, ...',
  table: 'cut FIELD, ...',
  keep: 'cut FIELD, ...',
  extend: 'put NAME := EXPR',
  eval: 'put NAME := EXPR',
  derive: 'put NAME := EXPR',
  let: 'put NAME := EXPR',
  remove: 'drop FIELD',
  take: 'head N',
  first: 'head 1',
  last: 'tail 1',
  offset: 'skip N',
  stats: 'aggregate AGG() by KEY',
  summarise: 'aggregate AGG() by KEY',
  group: 'aggregate AGG() by KEY',
  by: 'aggregate AGG() by KEY',
  dedup: 'distinct EXPR, or uniq',
  unique: 'distinct EXPR, or uniq',
  yield: 'values EXPR',
  map: 'values EXPR',
  over: 'unnest EXPR',
  explode: 'unnest EXPR',
  expand: 'unnest EXPR',
  flatten: 'unnest EXPR',
  'mv-expand': 'unnest EXPR',
  union: 'fork (...) (...)',
  parallel: 'fork (...) (...)',
  into: 'load POOL',
  write: 'load POOL',
  get: 'from URL',
  file: 'from FILE',
  pool: 'from POOL',
  read: 'from POOL',
  show: 'from :pools',
  delete: 'a request of its own (POST /pool/POOL/branch/BRANCH/delete); drop removes fields',
  update: 'put FIELD := EXPR, then load',
  insert: 'load POOL',
  shape: 'values cast(this, <TYPE>)',
};

/**
 * `did you mean "upper"?`, or undefined when no candidate is close. Letter case counts little; of several equally close
 * ones the first two are told.
 */
export const didYouMean = (name: string, candidates: Iterable<string>): string | undefined => {
  const close = closest(name, candidates);
  return close.length === 0
    ? undefined
    : `did you mean ${close
        .slice(0, 2)
        .map((c) => JSON.stringify(c))
        .join(' or ')}?`;
};

/** The same for names that people give: `logs_b` is not meant by `logs_a`, it is another of its kind. */
export const didYouMeanName = (name: string, candidates: Iterable<string>): string | undefined =>
  didYouMean(
    name,
    [...candidates].filter((c) => c.length !== name.length || c.slice(0, -1) !== name.slice(0, -1)),
  );

/** What stands for a word of another language: `write avg(v)`. */
export const foreignWord = (name: string, words: Foreign): string | undefined => {
  const lower = name.toLowerCase();
  return Object.hasOwn(words, lower) ? `write ${words[lower]}` : undefined;
};

/** All names, as far as they fit: what there is when nothing is close. */
export const oneOf = (what: string, names: readonly string[]): string | undefined =>
  names.length === 0
    ? undefined
    : `${what}: ${names
        .slice(0, listedMax)
        .map((n) => (/^[\p{L}_$][\p{L}\p{Nd}_$]*$/u.test(n) ? n : JSON.stringify(n)))
        .join(', ')}${names.length > listedMax ? ', ...' : ''}`;
const listedMax = 12;

/** Names longer than this are not compared. */
const nameCharsMax = 100;

/** The candidates that are closest to a name, if they are close enough to be meant. */
export const closest = (name: string, candidates: Iterable<string>): readonly string[] => {
  if (name.length > nameCharsMax) return [];
  const wanted = name.toLowerCase();
  let best = distanceMax(wanted.length);
  let found: string[] = [];
  for (const candidate of new Set(candidates)) {
    if (candidate === name || Math.abs(candidate.length - name.length) > best) continue;
    const distance = editDistance(wanted, candidate.toLowerCase(), best);
    if (distance > best) continue;
    if (distance < best) found = [];
    best = distance;
    found.push(candidate);
  }
  return found;
};

/** Two letters may be wrong in a long name, none in a short one. */
const distanceMax = (length: number): number => (length <= 2 ? 0 : length <= 4 ? 1 : 2);

/** Insertions, deletions, replacements and swaps of neighbours; more than `most` is `most + 1`. */
const editDistance = (a: string, b: string, most: number): number => {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    let least = i;
    for (let j = 1; j <= b.length; j++) {
      let d = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) d = Math.min(d, before[j - 2] + 1);
      row.push(d);
      least = Math.min(least, d);
    }
    if (least > most) return most + 1;
    before = last;
    last = row;
  }
  return last[b.length];
};
