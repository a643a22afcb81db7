/** Queries and loads that keep a worker busy for some time, and the pools that they read: for what is cancelled. */
import type { Client } from './client.ts';
import { jsonType } from './client.ts';

/** Options of the service that they are meant for. */
export const busyFlags = ['-workers', '1', '-memory', '1GiB', '-recursion.rounds.max', '1000000000'] as const;
const rows = 300_000;
const longBytes = 24 << 20;

export const loadBusyPools = async (client: Client): Promise<void> => {
  for (const pool of ['p', 'few', 'long', 'list']) await client.createPool(pool);
  await client.load(
    'p',
    Array.from(
      { length: rows },
      (_, k) => `{"k":${k},"g":${k % 100},"s":"row ${(k * 7919) % rows} of the table"}`,
    ).join('\n'),
  );
  await client.load(
    'few',
    Array.from({ length: 50_000 }, (_, k) => `{"k":${k},"s":"row ${(k * 7919) % 50_000}"}`).join('\n'),
  );
  await loadOne(
    client,
    'long',
    `{"k":1,"s":"${'abcdefgh'.repeat(longBytes / 8)}","sup":"[${'{a:1,b:[2,3]},'.repeat(longBytes / 16)}1]"}`,
  );
  await loadOne(
    client,
    'list',
    `{"k":1,"a":[${Array.from({ length: 3_000_000 }, (_, i) => (i * 7919) % 1_000_003).join(',')}]}`,
  );
};
const loadOne = async (client: Client, pool: string, body: string): Promise<void> => {
  const { status } = await client.ask('POST', `/pool/${pool}/branch/main`, { headers: jsonType, body });
  if (status !== 200) throw new Error(`a load of ${pool} ended with ${status}`);
};

/** By what they are busy with: the query, and the format of its answer if that matters. */
export const busy: Readonly<Record<string, string | readonly [query: string, accept: string]>> = {
  'join of every pair': 'from few | join (from few) as {l,r} on 1==1 | count()',
  'join of every pair, tested': 'from few | join (from few) as {l,r} on l.k+r.k < 0 | count()',
  'cross join': 'select count(*) from few a, few b',
  'anti join of every pair': 'from few | anti join (from few) as {l,r} on l.k+r.k == -1 | count()',
  'correlated subquery': 'select count(*) from few a where exists (select 1 from few b where b.k + a.k < 0)',
  'sort of texts': 'fork (from p) (from p) (from p) | sort s, k | tail 1',
  'sort of mixed values': 'fork (from p) (from p | values s) (from p | values {x:this}) | sort -r this | tail 1',
  'groups of one row':
    'fork (from p | values {s:s,k:k}) (from p | values {s:s,k:-k}) | c:=collect(this) by s,k | count()',
  'one huge group': 'fork (from p) (from p) (from p) | c:=collect(this) | count()',
  'union of many values': 'fork (from p) (from p | values k) (from p | values s) | union(this)',
  distinct: 'fork (from p) (from p) (from p) | distinct this | count()',
  window:
    'select k, sum(k) over (order by k rows between 100000 preceding and 100000 following) as t, lag(s, 5) over (partition by g order by s) as l from p',
  'window by range': 'select max(s) over (order by k range between 5000 preceding and 5000 following) as t from p',
  'recursive function': 'fn fib(n): (n < 2 ? n : fib(n-1)+fib(n-2)) values fib(34)',
  'recursive query':
    'with recursive t(n) as (select 1 union all select n+1 from t where n < 100000000) select count(*) from t',
  'regular expression over a long text':
    'from long | values regexp_replace(s, "(a|b|c)*?(h|z)+", "x") | values len(this)',
  'search in a long text':
    'from long | values grep("a[bc]*zz", s), grep("(a|b|c|d|e|f|g|h)+zz", s), grep("(.*)(.*)(.*)z", s)',
  'edit distance of long texts': 'from long | values levenshtein(s, s)',
  'split of a long text': 'from long | values split(s, "") | values len(this)',
  'replace in a long text': 'from long | values replace(s, "", "x") | values len(this)',
  'SUP parsed from a long text': 'from long | values parse_sup(sup) | values len(this)',
  'sort of a long list': 'from list | values [unnest a | sort -r this]',
  'expressions over a long list':
    'from list | values [unnest a | values f"{this}-{this+1}" | values upper(this)] | values len(this)',
  'text of a long value': 'from list | values string(a) | values len(this)',
  'cast of a long list': 'from list | values cast(a, <[string]>) | values len(this)',
  'set of a long list': 'from list | values cast(a, <|[int64]|>) | values len(this)',
  'comparison of long lists': 'from list | join (from list) as {l,r} on l.a == r.a | values l.a == r.a',
  'answer as BSUP': ['fork (from p) (from p) (from p)', 'application/x-bsup'],
  'answer as SUP': ['fork (from p) (from p) (from p)', 'application/x-sup'],
  'sort of mixed values, nothing else':
    'fork (from p | values k) (from p | values s) (from p | values {x:k}) (from p | values [s]) | sort this | tail 1',
  'answer as CSV': ['from p | fuse', 'text/csv'],
  'answer as Parquet': ['fork (from p) (from p) (from p) | fuse', 'application/x-parquet'],
  'answer as Arrow': ['fork (from p) (from p) (from p) | fuse', 'application/vnd.apache.arrow.stream'],
  'answer as CSUP': ['fork (from p) (from p) (from p)', 'application/x-csup'],
  'a long value as JSON': ['from list', 'application/json'],
  'a long value as BSUP': ['from list', 'application/x-bsup'],
};

let nextId = 0;
const pause = (forMs: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, forMs);
  });
/** How long the next query takes once that one was cancelled after some time; undefined if it had ended by then. */
export const untilNext = async (
  client: Client,
  how: string | readonly [query: string, accept: string],
  afterMs: number,
): Promise<number | undefined> => {
  const [query, accept] = typeof how === 'string' ? [how, 'application/x-ndjson'] : how;
  const id = `cancel-${nextId++}`;
  const running = client
    .ask('POST', '/query', { headers: { ...jsonType, accept, 'x-request-id': id }, body: JSON.stringify({ query }) })
    .catch(() => undefined);
  await pause(afterMs);
  const began = performance.now();
  const { status } = await client.ask('DELETE', `/query/${id}`);
  const answer = JSON.stringify(await client.query('values 1'));
  if (answer !== '[1]') throw new Error(`the next query answered ${answer}`);
  const took = performance.now() - began;
  await running;
  return status === 204 ? took : undefined;
};
