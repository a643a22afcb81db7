/**
 * What is cancelled stops, whatever it is doing: a worker that has been at one query or load for some time answers another one soon after that was given up.
 * One worker thread, so that the next query has nowhere else to go, and no thread may be lost.
 */
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startBuiltService } from './support/built-service.ts';
import { type Client, clientOf, jsonType } from './support/client.ts';
import { ms, printFigures } from './support/figures.ts';

let service: Service, client: Client;
const rows = 300_000, longBytes = 24 << 20;
beforeAll(async () => {
  service = await startBuiltService({ flags: ['-workers', '1', '-memory', '1GiB', '-recursion.rounds.max', '1000000000'] });
  client = clientOf(service.address);
  for (const pool of ['p', 'few', 'long', 'list']) await client.createPool(pool);
  await client.load('p', Array.from({ length: rows }, (_, k) => `{"k":${k},"g":${k % 100},"s":"row ${(k * 7919) % rows} of the table"}`).join('\n'));
  await client.load('few', Array.from({ length: 50_000 }, (_, k) => `{"k":${k},"s":"row ${(k * 7919) % 50_000}"}`).join('\n'));
  await loadOne('long', `{"k":1,"s":"${'abcdefgh'.repeat(longBytes / 8)}","sup":"[${'{a:1,b:[2,3]},'.repeat(longBytes / 16)}1]"}`);
  await loadOne('list', `{"k":1,"a":[${Array.from({ length: 3_000_000 }, (_, i) => (i * 7919) % 1_000_003).join(',')}]}`);
});
afterAll(async () => {
  client?.close();
  await service?.stop();
});

const loadOne = async (pool: string, body: string): Promise<void> => { expect((await client.ask('POST', `/pool/${pool}/branch/main`, { headers: jsonType, body })).status).toBe(200); };
/** A thread that does not stop is ended after ten seconds, with all that it does. */
const soonMsMax = 8000, beforeMs = Number(process.env['CANCEL_AFTER'] ?? 150);
const pause = (forMs: number): Promise<void> => new Promise((resolve) => { setTimeout(resolve, forMs); });
let nextId = 0;

/** How long the next query takes once that one was cancelled; undefined if it had ended by then. */
const untilNext = async (query: string, accept: string): Promise<number | undefined> => {
  const id = `cancel-${nextId++}`, running = client.ask('POST', '/query', { headers: { ...jsonType, accept, 'x-request-id': id }, body: JSON.stringify({ query }) }).catch(() => undefined);
  await pause(beforeMs);
  const began = performance.now(), { status } = await client.ask('DELETE', `/query/${id}`);
  expect(await client.query('values 1')).toEqual([1]);
  const took = performance.now() - began;
  await running;
  return status === 204 ? took : undefined;
};

const busy: Readonly<Record<string, string | readonly [query: string, accept: string]>> = {
  'join of every pair': 'from few | join (from few) as {l,r} on 1==1 | count()',
  'join of every pair, tested': 'from few | join (from few) as {l,r} on l.k+r.k < 0 | count()',
  'cross join': 'select count(*) from few a, few b',
  'anti join of every pair': 'from few | anti join (from few) as {l,r} on l.k+r.k == -1 | count()',
  'correlated subquery': 'select count(*) from few a where exists (select 1 from few b where b.k + a.k < 0)',
  'sort of texts': 'fork (from p) (from p) (from p) | sort s, k | tail 1',
  'sort of mixed values': 'fork (from p) (from p | values s) (from p | values {x:this}) | sort -r this | tail 1',
  'groups of one row': 'fork (from p | values {s:s,k:k}) (from p | values {s:s,k:-k}) | c:=collect(this) by s,k | count()',
  'one huge group': 'fork (from p) (from p) (from p) | c:=collect(this) | count()',
  'union of many values': 'fork (from p) (from p | values k) (from p | values s) | union(this)',
  'distinct': 'fork (from p) (from p) (from p) | distinct this | count()',
  'window': 'select k, sum(k) over (order by k rows between 100000 preceding and 100000 following) as t, lag(s, 5) over (partition by g order by s) as l from p',
  'window by range': 'select max(s) over (order by k range between 5000 preceding and 5000 following) as t from p',
  'recursive function': 'fn fib(n): (n < 2 ? n : fib(n-1)+fib(n-2)) values fib(34)',
  'recursive query': 'with recursive t(n) as (select 1 union all select n+1 from t where n < 100000000) select count(*) from t',
  'regular expression over a long text': 'from long | values regexp_replace(s, "(a|b|c)*?(h|z)+", "x") | values len(this)',
  'search in a long text': 'from long | values grep("a[bc]*zz", s), grep("(a|b|c|d|e|f|g|h)+zz", s), grep("(.*)(.*)(.*)z", s)',
  'edit distance of long texts': 'from long | values levenshtein(s, s)',
  'split of a long text': 'from long | values split(s, "") | values len(this)',
  'replace in a long text': 'from long | values replace(s, "", "x") | values len(this)',
  'SUP parsed from a long text': 'from long | values parse_sup(sup) | values len(this)',
  'sort of a long list': 'from list | values [unnest a | sort -r this]',
  'expressions over a long list': 'from list | values [unnest a | values f"{this}-{this+1}" | values upper(this)] | values len(this)',
  'text of a long value': 'from list | values string(a) | values len(this)',
  'cast of a long list': 'from list | values cast(a, <[string]>) | values len(this)',
  'set of a long list': 'from list | values cast(a, <|[int64]|>) | values len(this)',
  'comparison of long lists': 'from list | join (from list) as {l,r} on l.a == r.a | values l.a == r.a',
  'answer as CSV': ['from p | fuse', 'text/csv'],
  'answer as Parquet': ['fork (from p) (from p) (from p) | fuse', 'application/x-parquet'],
  'answer as Arrow': ['fork (from p) (from p) (from p) | fuse', 'application/vnd.apache.arrow.stream'],
  'answer as CSUP': ['fork (from p) (from p) (from p)', 'application/x-csup'],
  'a long value as JSON': ['from list', 'application/json'],
  'a long value as BSUP': ['from list', 'application/x-bsup'],
};

describe('a query that is cancelled', () => {
  const figures: Record<string, string> = {};
  for (const [what, how] of Object.entries(busy)) {
    test(`${what}: the next one has its turn`, async () => {
      const [query, accept] = typeof how === 'string' ? [how, 'application/x-ndjson'] : how;
      const took = await untilNext(query, accept);
      figures[what] = took === undefined ? 'ended before' : ms(took);
      if (process.env['CANCEL_VERBOSE']) printFigures(what, { took: figures[what]! });
      expect({ what, took: took ?? 0 }).toEqual({ what, took: expect.toSatisfy((n: number) => n < soonMsMax) as unknown });
    });
  }
  afterAll(() => { printFigures('next query after a cancelled one', figures); });
});

describe('a load whose client goes away', () => {
  const bodies: Readonly<Record<string, readonly [type: string, body: () => string]>> = {
    'one long list': ['application/json', () => `{"k":1,"a":[${'1,2,3,4,'.repeat(2_500_000)}1]}`],
    'one long list of records in SUP': ['application/x-sup', () => `{k:1,a:[${'{a:1,b:"x"},'.repeat(1_200_000)}{a:1,b:"y"}]}`],
    'many rows': ['application/json', () => '{"k":1,"s":"some text"}\n'.repeat(600_000)],
  };
  for (const [what, [type, body]] of Object.entries(bodies)) {
    test(`${what}: the next query has its turn, and nothing is committed`, async () => {
      const tip = await client.tip('p'), sent = httpRequest(`${service.address}/pool/p/branch/main`, { method: 'POST', agent: false, headers: { 'content-type': type } });
      sent.on('error', () => undefined);
      await new Promise<void>((resolve) => { sent.end(body(), resolve); });
      await pause(beforeMs / 3);
      sent.destroy();
      const began = performance.now();
      expect(await client.query('values 1')).toEqual([1]);
      const took = performance.now() - began;
      printFigures(`next query after a load that was given up, ${what}`, { took: ms(took) });
      expect(took).toBeLessThan(soonMsMax);
      expect(await client.tip('p')).toBe(tip);
    });
  }
});

test('no thread was lost', async () => {
  expect((await client.ask('GET', '/metrics')).body).toMatch(/^lake_workers_replaced(_total)? 0$/m);
});
