/**
 * Statements and clauses of other SQL databases that this language does not have: what they are called, and what to
 * write instead. They are looked at only once a text is known to be wrong, so that no query of ours is ever taken for
 * one of theirs.
 */
import { type CompileFault } from './error.ts';

interface Foreign {
  readonly pattern: RegExp;
  /** What the pattern finds is called so in the message; absent: its own words. */
  readonly name?: string;
  readonly hint: string;
}

const inserting = 'INSERT INTO POOL (COLUMN, ..) VALUES (..), or INSERT INTO POOL SELECT ..; a statement stands alone';
const deleting = 'DELETE FROM POOL [WHERE CONDITION]; a statement stands alone';
const merging =
  'MERGE INTO POOL USING TABLE ON CONDITION WHEN MATCHED [AND ..] THEN UPDATE SET ..|DELETE WHEN NOT MATCHED THEN INSERT (COLUMN, ..) VALUES (..); a statement stands alone';
const changing = 'UPDATE POOL SET COLUMN = EXPRESSION, .. [WHERE CONDITION]; a statement stands alone';
const schemaless = 'a pool has no schema: its name stands alone';
const naming =
  'the pool is named where it is read: from POOL, from POOL@BRANCH; head of the request, and .use of the shell, give a default';
const settings =
  'settings are options of the service (lake serve -h); a query has pragma index_base, default_null_order and pg';
const committing =
  'each load and each delete is a commit of its own; what belongs together goes to a branch that is merged at once: POST /pool/POOL/branch/BRANCH/merge/CHILD';
const parameters = 'values stand in the text, or before the query by a name: const NAME = VALUE';

/** By the first words of the text. */
export const statements: readonly Foreign[] = [
  {
    pattern: /(?:insert\s+into|update|(?:delete|merge)\s+(?:from|into))\s+"[^"]*"\s*\./iy,
    name: 'a schema',
    hint: schemaless,
  },
  {
    pattern: /(?:insert|replace|upsert)\s+(?:or\s+\w+\s+)into\b|(?:replace|upsert)\s+into\b|insert\s+overwrite\b/iy,
    hint: inserting,
  },
  { pattern: /delete\s+(?!from\b)[\w."@]+\s+where\b/iy, name: 'DELETE without FROM', hint: deleting },
  { pattern: /truncate\b(?!\s*:=)/iy, hint: `${deleting}, without a condition for all rows` },
  {
    pattern: /create\s+(?:or\s+replace\s+)?(?:(?:global|local)\s+)?(?:temp|temporary|unlogged|external)?\s*table\b/iy,
    name: 'CREATE TABLE',
    hint: 'POST /pool takes {"name": "POOL"}; columns come with the rows, and QUERY | load POOL fills it',
  },
  {
    pattern: /create\s+(?:or\s+replace\s+)?(?:(?:global|local)\s+)?temp\w*\s+view\b/iy,
    name: 'CREATE TEMPORARY VIEW',
    hint: 'views are kept: create view NAME as QUERY, drop view NAME; for one text alone: let NAME = (QUERY) before a pipe, with NAME as (QUERY) before SELECT',
  },
  {
    pattern: /create\s+(?:or\s+replace\s+)?materialized\s+view\b/iy,
    name: 'CREATE MATERIALIZED VIEW',
    hint: 'create view NAME as QUERY runs the query whenever it is read; QUERY | load POOL keeps an answer',
  },
  {
    pattern: /create\s+(?:or\s+replace\s+)?recursive\s+view\b/iy,
    name: 'CREATE RECURSIVE VIEW',
    hint: 'create view NAME as with recursive NAME as (..) select ..',
  },
  { pattern: /drop\s+materialized\s+view\b/iy, hint: 'drop view NAME' },
  { pattern: /alter\s+(?:materialized\s+)?view\b/iy, hint: 'alter view NAME rename to NAME, alter view NAME as QUERY' },
  {
    pattern: /create\s+(?:unique\s+)?index\b/iy,
    name: 'CREATE INDEX',
    hint: 'a pool is sorted by its key (layout of POST /pool), and its blocks know the least and greatest of each column',
  },
  {
    pattern: /create\s+(?:or\s+replace\s+)?(?:temp\w*\s+)?sequence\b/iy,
    name: 'CREATE SEQUENCE',
    hint: 'rows are numbered by row_number() over (), or named by ksuid()',
  },
  {
    pattern: /create\s+(?:or\s+replace\s+)?(?:temp\w*\s+)?(?:macro|function|procedure|aggregate)\b/iy,
    hint: 'write before the query: fn NAME(a, b): EXPR, or op NAME a, b: (QUERY)',
  },
  { pattern: /create\s+(?:or\s+replace\s+)?(?:type|domain)\b/iy, hint: 'write before the query: type NAME = TYPE' },
  {
    pattern: /create\s+(?:schema|database|catalog)\b/iy,
    hint: 'pools have one space of names: POST /pool takes {"name": "POOL"}',
  },
  {
    pattern:
      /(?:create|drop|alter)\s+(?:or\s+replace\s+)?(?:user|role|secret|persistent\s+secret)\b|(?:grant|revoke)\s+\w+/iy,
    hint: 'keys and their rights are given by lake key (lake key -h)',
  },
  {
    pattern: /create\s+(?:or\s+replace\s+)?(?!view\b|or\s)\w+/iy,
    hint: 'POST /pool makes pools, POST /pool/POOL makes branches',
  },
  { pattern: /drop\s+table\b/iy, hint: 'DELETE /pool/POOL removes a pool' },
  {
    pattern: /drop\s+(?:index|schema|database|sequence|macro|function|type|trigger)\b/iy,
    hint: 'DELETE /pool/POOL removes a pool, DELETE /pool/POOL/branch/BRANCH a branch, and drop view NAME a view; the lake has nothing else by a name',
  },
  { pattern: /alter\s+\w+/iy, hint: 'columns come with the rows; PUT /pool/POOL gives a pool another name' },
  { pattern: /rename\s+table\b/iy, hint: 'PUT /pool/POOL gives a pool another name' },
  {
    pattern: /copy\s+(?:\(|[\w."]+(?:\s*\([^)]*\))?\s+(?:to|from)\b)/iy,
    name: 'COPY',
    hint: 'rows go out in the format that Accept asks for (text/csv, application/vnd.apache.parquet), or by lake query -f; they come in by lake load, or POST /pool/POOL/branch/BRANCH',
  },
  {
    pattern: /(?:export|import)\s+database\b/iy,
    hint: 'from POOL gives all rows in the format that Accept asks for; lake load takes files',
  },
  { pattern: /(?:attach|detach)\b(?!\s*:=)/iy, hint: `a service has one lake; ${naming}` },
  { pattern: /use\s+[\w."]+\s*;?\s*$/iy, name: 'USE', hint: naming },
  {
    pattern:
      /(?:set|reset)\s+(?:(?:session|local|global|variable)\s+)?[\w.]+|pragma\s+(?!index_base\b|default_null_order\b|pg\b)\w+\s*(?:\(|=|;|$)/iy,
    hint: settings,
  },
  {
    pattern:
      /(?:begin|start)(?:\s+(?:transaction|work|deferred|immediate|exclusive))?\s*(?:;|$)|(?:commit|end)(?:\s+(?:transaction|work))?\s*(?:;|$)|savepoint\b|release\b/iy,
    hint: committing,
  },
  { pattern: /(?:rollback|abort)\b/iy, hint: 'POST /pool/POOL/branch/BRANCH/revert/COMMIT takes a commit back' },
  {
    pattern: /vacuum\b/iy,
    hint: 'POST /pool/POOL/revision/REVISION/vacuum removes objects that only earlier commits have',
  },
  { pattern: /optimize\b|cluster\s/iy, hint: 'POST /pool/POOL/branch/BRANCH/compact merges small objects' },
  { pattern: /analyze\b/iy, hint: 'statistics come with the rows; explain analyze QUERY says what a query does' },
  { pattern: /(?:force\s+)?checkpoint\b/iy, hint: 'a commit that was answered is durable' },
  { pattern: /(?:force\s+)?install\s/iy, hint: 'there are no extensions: functions and formats are built in' },
  {
    pattern: /(?:prepare|execute|deallocate)\s/iy,
    hint: 'a query is sent as text; values stand before it: const NAME = VALUE',
  },
  {
    pattern: /call\s+[\w.]+\s*\(/iy,
    name: 'CALL',
    hint: 'functions that give rows stand in FROM: select * from FUNCTION(...)',
  },
  { pattern: /(?:declare|exec)\s/iy, hint: 'a query is one expression of rows; write const, fn, op and let before it' },
  { pattern: /lock\s+table/iy, hint: 'a query reads one commit, and loads never wait for each other' },
  { pattern: /comment\s+on\b/iy, hint: 'loads carry a message: header SuperDB-Commit' },
  { pattern: /(?:un)?listen\s|notify\s/iy, hint: 'GET /events tells of commits, branches and pools' },
  { pattern: /kill\s/iy, hint: 'DELETE /query/ID ends a query' },
  {
    pattern: /refresh\s+materialized/iy,
    hint: 'a view runs its query whenever it is read; QUERY | load POOL keeps an answer',
  },
  {
    pattern: /show\s+(?:databases|schemas|columns|create|variables|functions|all\s+settings|full)\b/iy,
    hint: 'show tables lists the pools, describe POOL their columns',
  },
  {
    pattern:
      /explain\s+(?:analyze\s+)?(?:\(\s*(?:format|analyze|verbose|costs|buffers|timing|settings|summary)\b|verbose\b)/iy,
    name: 'EXPLAIN with options',
    hint: 'write explain QUERY, or explain analyze QUERY, without options',
  },
];

/** Where the parser gave up; `near` is about the text before that place. */
const clauses: readonly (Foreign & { readonly near: number })[] = [
  {
    near: 16,
    pattern: /\b(?:insert\s+into|update\s+[\w."@]+\s+set|delete\s+from|merge\s+into)\b/iy,
    name: 'a statement within another text',
    hint: 'it stands alone: INSERT INTO POOL WITH NAME AS (..) SELECT ..; UPDATE and DELETE take subqueries',
  },
  {
    near: 0,
    pattern: /(?<=\b(?:from|join)\s+["`][^"`]*["`]\s*|,\s*["`][^"`]*["`]\s*)\./iy,
    name: 'a schema',
    hint: schemaless,
  },
  {
    near: 8,
    pattern: /\bfor\s+(?:update|share|no\s+key)/iy,
    hint: 'a query reads one commit and locks nothing: leave it out',
  },
  { near: 8, pattern: /\binto\s+[\w."]+\s+from\b/iy, name: 'SELECT INTO', hint: 'write select ... | load POOL' },
  {
    near: 8,
    pattern: /(?<=\bselect\s+(?:distinct\s+)?)top\s*\(?\s*\d+/iy,
    name: 'TOP',
    hint: 'write limit N at the end',
  },
  { near: 16, pattern: /\blimit\s+\d+\s*,/iy, name: 'LIMIT a, b', hint: 'write limit COUNT offset START' },
  {
    near: 8,
    pattern: /\bwith\s*\(\s*\w*lock/iy,
    name: 'WITH (...)',
    hint: 'a query reads one commit and locks nothing: leave it out',
  },
  {
    near: 8,
    pattern: /\b(?:time|timetz)\s+with\s+time\s+zone/iy,
    name: 'TIME WITH TIME ZONE',
    hint: 'write ::time for the clock, or ::timestamptz for a moment',
  },
  {
    near: 8,
    pattern: /\bat\s+local\b/iy,
    name: 'AT LOCAL',
    hint: "there is no time zone of a session: write t AT TIME ZONE 'Europe/Paris'",
  },
  {
    near: 8,
    pattern: /\btimetz\b/iy,
    name: 'TIMETZ',
    hint: 'write ::time for the clock, or ::timestamptz for a moment',
  },
  {
    near: 20,
    pattern: /\btime\s+with\s+time\s+zone/iy,
    name: 'TIME WITH TIME ZONE',
    hint: 'write ::time for the clock, or ::timestamptz for a moment',
  },
  { near: 4, pattern: /\bx'[^']*'/iy, name: "x'..'", hint: "write '\\xAB\\xCD'::blob, or from_hex('ABCD')" },
  {
    near: 4,
    pattern:
      /(?<=(?:[=<>(,+*/%-]|\b(?:select|where|and|or|not|in|like|between|when|then|else|limit|offset|values))\s*)\?|(?<=[=<>]\s*):[a-z_]\w*/iy,
    name: 'a parameter',
    hint: parameters,
  },
  { near: 4, pattern: /#>>?/y, name: 'the operator', hint: "write json_extract_string(s, '$.a.b')" },
  {
    near: 12,
    pattern: /\b(?:regexp|rlike)\b/iy,
    hint: "write s ~ 're', or regexp_matches(s, 're')",
  },
  {
    near: 16,
    pattern: /\b(?:limit|fetch\s+(?:first|next))\s+\d+\s+(?:rows?\s+)?with\s+ties\b/iy,
    name: 'WITH TIES',
    hint: 'write qualify rank() over (order by KEY) <= N in place of the limit',
  },
  {
    near: 24,
    pattern:
      /\b(?:jsonb?_(?:each|array_elements)(?:_text)?|jsonb?_(?:to|populate)_record(?:set)?|json_table|openjson)\b/iy,
    hint: 'write from t, json_each(t.j)',
  },
  { near: 24, pattern: /\bsafe_cast\b/iy, hint: 'write try_cast(v as TYPE)' },
  {
    near: 24,
    pattern: /(?<=(?:\bselect|,)\s*)struct\s*\([^()]*\bas\b/iy,
    name: 'STRUCT(.. AS ..)',
    hint: 'write {a: 1, b: 2}, or struct_pack(a := 1, b := 2)',
  },
  { near: 4, pattern: /<=>/y, name: '<=>', hint: 'write a is not distinct from b' },
  { near: 8, pattern: /\bdiv\b/iy, name: 'DIV', hint: 'write a // b' },
  { near: 8, pattern: /\bxor\b/iy, name: 'XOR', hint: 'write a <> b for conditions, xor(a, b) for bits' },
  { near: 8, pattern: /\bminus\b/iy, name: 'MINUS', hint: 'write except' },
  { near: 16, pattern: /\bwith\s+(?:rollup|cube)\b/iy, hint: 'write group by rollup (a, b), or cube (a, b)' },
  {
    near: 24,
    pattern: /\b(?:start\s+with|connect\s+by)\b/iy,
    hint: 'write with recursive NAME as (select .. union all select .. from TABLE join NAME on ..) select ..',
  },
  {
    near: 24,
    pattern: /\b(?:cross|outer)\s+apply\b/iy,
    hint: 'write cross join lateral (..), or left join lateral (..) on true',
  },
  {
    near: 24,
    pattern: /\bwith\s+offset\b/iy,
    hint: 'write from t, unnest(l) with ordinality as u(element, n), whose n begins with 1',
  },
  {
    near: 24,
    pattern: /\blateral\s+(?:flatten|view)\b/iy,
    hint: 'write from t, unnest(t.list) as u(element)',
  },
  { near: 8, pattern: /\(\+\)/y, name: '(+)', hint: 'write left join TABLE on CONDITION' },
  { near: 12, pattern: /\bseparator\s+'/iy, name: 'SEPARATOR', hint: "write string_agg(v, ',' order by v)" },
  {
    near: 64,
    pattern: /(?<=\b(?:from|join|into|update)\s+(?:[\w.]+|"[^"]*"))@(?!\d{4}-\d\d-\d\d)\w+(?:[-/.]\w+)+/iy,
    name: 'a name of a branch with "-", "/" or "." that is not quoted',
    hint: 'write POOL@"BRANCH"',
  },
  {
    near: 64,
    pattern: /(?<=\b(?:from|join|into|update)\s+)\w+(?:-\w+)+/iy,
    name: 'a name with "-" that is not quoted',
    hint: 'write "NAME"',
  },
  { near: 4, pattern: /@@?\w+/iy, name: 'a variable', hint: 'write const NAME = VALUE before the query' },
];

/** What statements of our own are called, by their first words, and what they are to say. */
const ownStatements: readonly Foreign[] = [
  { pattern: /insert\s+into\b/iy, hint: inserting },
  { pattern: /update\s+[\w."@]+\s+(?:as\s+)?(?:[\w"]+\s+)?set\b/iy, hint: changing },
  { pattern: /merge\s+into\b/iy, hint: merging },
  { pattern: /delete\s+from\b/iy, hint: deleting },
];
/** What others have within them, about the place where the parser gave up: `using` is read as an alias. */
const foreignParts: readonly (Foreign & { readonly of: RegExp; readonly near: number })[] = [
  {
    of: /insert/iy,
    near: 12,
    pattern: /\bon\s+(?:conflict|duplicate\s+key)\b/iy,
    name: 'INSERT .. ON CONFLICT',
    hint: merging,
  },
  { of: /update/iy, near: 4, pattern: /\bfrom\b/iy, name: 'UPDATE .. FROM', hint: merging },
  { of: /delete/iy, near: 24, pattern: /\busing\b/iy, name: 'DELETE .. USING', hint: merging },
  {
    of: /insert|update|delete|merge/iy,
    near: 24,
    pattern: /\breturning\b/iy,
    name: 'RETURNING',
    hint: 'a statement gives the id of its commit; a query reads the rows',
  },
];

/** A name like `$1` that is no column. */
export const parameterFault = { message: 'a parameter is not supported', hint: parameters } as const;

/**
 * The fault of an INSERT, UPDATE, DELETE or MERGE INTO that is none of this language's from `place` on; undefined if the
 * text is no such statement.
 */
export const brokenStatement = (text: string, place: number): CompileFault | undefined => {
  const at = beginOf(text);
  const own = ownStatements.find((row) => foundAt(row, text, at));
  if (own === undefined) return undefined;
  // What stands in texts and quoted names is no word of the statement.
  const words = text.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"/g, (quoted) => '_'.repeat(quoted.length));
  for (const row of foreignParts) {
    row.of.lastIndex = at;
    if (!row.of.test(text)) continue;
    for (let from = Math.max(at, place - row.near); from <= place; from++) {
      const found = foundAt(row, words, from);
      if (found) return found;
    }
  }
  return { message: 'parse error', start: bytesTo(text, place), end: -1, hint: own.hint };
};

/** A statement that is not of this language, if the text begins with one: its fault, with what to write instead. */
export const foreignStatement = (text: string): CompileFault | undefined => {
  const at = beginOf(text);
  for (const row of statements) {
    const found = foundAt(row, text, at);
    if (found) return found;
  }
  return undefined;
};

/** A clause that is not of this language at the place where the parser gave up, or just before it. */
export const foreignClause = (text: string, place: number): CompileFault | undefined => {
  for (const row of clauses) {
    for (let at = Math.max(0, place - row.near); at <= place; at++) {
      const found = foundAt(row, text, at);
      if (found) return found;
    }
  }
  return undefined;
};

/** Behind blanks and comments. */
const beginOf = (text: string): number => /^(?:\s+|--[^\n]*(?:\n|$)|\/\*[^]*?\*\/)*/.exec(text)![0].length;
const bytesTo = (text: string, place: number): number => Buffer.byteLength(text.slice(0, place));

const foundAt = (row: Foreign, text: string, at: number): CompileFault | undefined => {
  row.pattern.lastIndex = at;
  const found = row.pattern.exec(text)?.[0].trimEnd();
  return found === undefined ? undefined : faultOf(row, text, at, at + found.length);
};
const faultOf = ({ name, hint }: Omit<Foreign, 'pattern'>, text: string, start: number, end: number): CompileFault => {
  const words = text
    .slice(start, end)
    .replace(/[\s;(=,]+/g, ' ')
    .trim()
    .toUpperCase();
  return { message: `${name ?? words} is not supported`, start: bytesTo(text, start), end: bytesTo(text, end), hint };
};
