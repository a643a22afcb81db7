/** What to write instead: names that are close to one that nobody knows, and words of other query languages. */

/** A name of another language and what stands for it here. */
type Foreign = Readonly<Record<string, string>>;

/** Functions of SQL dialects and pipe languages that have another name or form here. */
export const foreignFunctions: Foreign = {
  average: 'avg(v)',
  countd: 'dcount(v)',
  approx_distinct: 'approx_count_distinct(v)',
  uniq: 'count(distinct v)',
  uniqexact: 'count(distinct v)',
  total: 'coalesce(sum(v), 0)',
  sumif: 'sum(v) filter (where condition)',
  avgif: 'avg(v) filter (where condition)',
  grouparray: 'list(v)',
  arrayjoin: 'UNNEST(l)',
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
  regexp_contains: 'regexp_matches(s, re)',
  rlike: 'regexp_matches(s, re)',
  regexp_substr: 'regexp_extract(s, re)',
  regexp_count: 'len(regexp_extract_all(s, re))',
  substring_index: 'split_part(s, separator, n)',
  field: 'list_position([a, b, ...], v)',
  find_in_set: "list_position(split(s, ','), v)",
  elt: '[a, b, ...][n]',
  char: 'chr(n)',
  charindex: 'strpos(s, sub)',
  startswith: 'starts_with(s, prefix)',
  endswith: 'ends_with(s, suffix)',
  btrim: 'trim(s)',
  space: "repeat(' ', n)",
  replicate: 'repeat(s, n)',
  stuff: 'left(s, n) || new || substr(s, m)',
  sha2: 'sha256(s)',
  isnull: 'v is null',
  nvl: 'ifnull(a, b)',
  nvl2: 'case when v is not null then a else b end',
  zeroifnull: 'coalesce(n, 0)',
  nullifzero: 'nullif(n, 0)',
  safe_divide: 'a / nullif(b, 0)',
  div0: 'coalesce(a / nullif(b, 0), 0)',
  safe_cast: 'TRY_CAST (v AS type)',
  convert: 'cast(v as type)',
  iif: 'if(test, a, b)',
  to_char: 'strftime(format, t)',
  date_format: 'strftime(format, t)',
  format_time: 'strftime(format, t)',
  to_date: 'v::date',
  str_to_date: "strptime(s, '%Y-%m-%d')",
  parse_date: "strptime(s, '%Y-%m-%d')",
  parse_datetime: "strptime(s, '%Y-%m-%d %H:%M:%S')",
  parse_timestamp: "strptime(s, '%Y-%m-%d %H:%M:%S')",
  format_date: 'strftime(format, t)',
  format_datetime: 'strftime(format, t)',
  format_timestamp: 'strftime(format, t)',
  tostartofhour: "date_trunc('hour', t)",
  tostartofday: "date_trunc('day', t)",
  tostartofmonth: "date_trunc('month', t)",
  todate: 't::date',
  todatetime: 't::timestamp',
  datetime_add: "t + interval '1 day'",
  datetime_sub: "t - interval '1 day'",
  timestamp_trunc: "date_trunc('day', t)",
  datetime_trunc: "date_trunc('day', t)",
  timestamp_diff: "date_sub('day', from, to), which counts whole units",
  datetime_diff: "date_diff('day', from, to), which counts boundaries",
  timestamp_add: "t + interval '1 day'",
  timestamp_sub: "t - interval '1 day'",
  date_bin: 'time_bucket(size, t, origin)',
  make_interval: "interval '3 days', interval (n) day",
  datetime: "t::timestamp, t + interval '1 day'",
  julianday: "date_part('julian', t)",
  generate_date_array: "generate_series(from, to, interval '1 day')",
  generate_timestamp_array: "generate_series(from, to, interval '1 hour')",
  generate_array: 'generate_series(from, to)',
  subdate: "t - interval '1 day'",
  date_add: "t + interval '1 day'",
  dateadd: "t + interval '1 day'",
  adddate: "t + interval '1 day'",
  timestampadd: "t + interval '1 day'",
  timestampdiff: "date_sub('day', from, to), which counts whole units",
  curdate: 'current_date()',
  sysdate: 'now()',
  unix_timestamp: 'epoch(t)',
  from_unixtime: 'to_timestamp(seconds)',
  months_between: "date_diff('month', a, b)",
  getdate: 'now()',
  rand: 'random()',
  truncate: 'trunc(n, places)',
  stats: 'summarize TABLE',
  remap_struct: '{a: s.a, b: s.c}',
  decimal_division: '(a / b)::decimal',
  decimal_average: 'avg(v)::decimal',
  hash: 'md5(v::varchar)',
  create_sort_key: 'order by v desc nulls last',
  replace_type: 'v::type',
  can_cast_implicitly: 'v::type',
  invoke: 'list_transform([v], lambda x: x + 1)[1]',
  make_type: 'a type by its name',
  bitand: 'a & b',
  bitor: 'or_bits(a, b)',
  bitxor: 'xor(a, b)',
  to_number: 'v::decimal',
  to_numeric: 'v::decimal',
  to_varchar: 'v::varchar',
  approx_percentile: 'approx_quantile(v, 0.5)',
  percentile_approx: 'approx_quantile(v, 0.5)',
  approx_quantiles: 'quantile_cont(v, [0.25, 0.5, 0.75])',
  ratio_to_report: 'v / sum(v) over ()',
  toint: 'v::int64',
  tofloat: 'v::float64',
  tostring: 'v::string',
  int: 'v::int64',
  int64: 'v::int64',
  float: 'v::float64',
  float64: 'v::float64',
  string: 'v::string',
  str: 'v::string',
  to_string: 'v::string',
  to_int: 'v::int64',
  parse_json: 'parse_sup(s)',
  to_jsonb: 'to_json(v)',
  json_agg: 'json_group_array(v)',
  jsonb_agg: 'json_group_array(v)',
  json_arrayagg: 'json_group_array(v)',
  json_object_agg: 'json_group_object(name, v)',
  jsonb_object_agg: 'json_group_object(name, v)',
  json_objectagg: 'json_group_object(name, v)',
  json_typeof: 'json_type(s)',
  jsonb_typeof: 'json_type(s)',
  jsonb_array_length: 'json_array_length(s)',
  json_object_keys: 'UNNEST(json_keys(s))',
  jsonb_object_keys: 'UNNEST(json_keys(s))',
  jsonb_set: "json_set(s, '$.name', v)",
  json_build_object: 'json_object(name, v, ...)',
  jsonb_build_object: 'json_object(name, v, ...)',
  object_construct: 'json_object(name, v, ...)',
  json_build_array: 'json_array(v, ...)',
  jsonb_build_array: 'json_array(v, ...)',
  array_construct: '[v, ...]',
  get_json_object: "json_extract_string(s, '$.name')",
  json_extract_scalar: "json_extract_string(s, '$.name')",
  json_query: "json_extract(s, '$.name')",
  json_array_elements: "UNNEST(json_extract(s, '$[*]'))",
  jsonb_array_elements: "UNNEST(json_extract(s, '$[*]'))",
  json_array_elements_text: "UNNEST(json_extract_string(s, '$[*]'))",
  jsonb_array_elements_text: "UNNEST(json_extract_string(s, '$[*]'))",
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

/** Names that other dialects give to values, which look like columns. */
export const foreignColumns: Foreign = {
  rownum: 'row_number() over ()',
  sysdate: 'now()',
  systimestamp: 'now()',
  getdate: 'now()',
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
