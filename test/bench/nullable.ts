/**
 * What nulls cost: the same rows as plain columns, as columns that may be null and never are, and with 10 % nulls: `npm
 * run bench:nullable -- --rows 1000000 --runs 15`.
 *
 * Each query is asked of the three pools in turn; what counts is the processor time of the process (Linux), as the
 * machine may have other work. It reports, and asserts nothing of times: 1.1 and 1.5 of plain are what is aimed at.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { startBuiltService } from '../support/service/built.ts';
import { type Client, clientOf } from '../support/service/client.ts';
import { median } from '../support/figures.ts';
import { randomOf } from '../support/random.ts';

const pools = ['plain', 'nullable', 'holed'] as const;
type PoolName = (typeof pools)[number];

/** A column by its type in SUP, and the text of a value. */
const columns: readonly { readonly name: string; readonly type: string; readonly of: (x: number) => string }[] = [
  { name: 'small', type: 'int16', of: (x) => String(x % 60) },
  { name: 'code', type: 'int32', of: (x) => String(x % 5000) },
  { name: 'id', type: 'int64', of: (x) => String((BigInt(x) * 0x9e3779b97f4a7c15n) & 0x7fffffffffffffffn) },
  { name: 'ratio', type: 'float64', of: (x) => `${(x % 100_003) / 7}e0` },
  { name: 'at', type: 'time', of: (x) => new Date(1_700_000_000_000 + x * 1000).toISOString() },
  { name: 'word', type: 'string', of: (x) => `"word ${x % 300}"` },
  { name: 'path', type: 'string', of: (x) => `"/some/where/${x}/${x % 977}"` },
  { name: 'flag', type: 'bool', of: (x) => String(x % 3 === 0) },
];

/** A query for each kind of kernel. */
const queries: readonly string[] = [
  ...[
    'small <> 0',
    'code = 17',
    'code < 2500',
    'id > 4611686018427387904',
    'ratio >= 7000',
    "at < '2023-11-20'",
    "word = 'word 17'",
    "path like '%/17%'",
    'flag',
    'small in (1, 5)',
    'code + small > 2500',
    'small is null',
    'code between 10 and 20',
  ].map((test) => `select count(*) as n from POOL where ${test}`),
  ...[
    'sum(code)',
    'avg(small)',
    'min(id)',
    'max(at)',
    'max(word)',
    'sum(ratio)',
    'count(path)',
    'count(distinct code)',
    'sum(code * 2 + small)',
    'stddev(ratio)',
    'avg(strlen(path))',
    'max(upper(word))',
    'count_if(flag)',
    'sum(case when flag then code else small end)',
    'max(round(ratio))',
    'max(code::string)',
    "max(date_trunc('day', at))",
  ].map((value) => `select ${value} as v from POOL`),
  ...['small', 'code', 'word', 'flag', 'small, word', "date_trunc('day', at)"].map(
    (key) => `select count(*) as n from (select ${key}, count(*) as c, sum(code) as s from POOL group by ${key})`,
  ),
  ...['code', 'id', 'word', 'ratio'].map((key) => `select ${key} from POOL order by ${key} desc limit 5`),
  'select count(*) as n from POOL as a join (select distinct code from POOL where small = 1) as b on a.code = b.code',
];

const batchRows = 20_000;
const fill = async (client: Client, pool: PoolName, rows: number): Promise<void> => {
  const random = randomOf(11);
  const typeOf = (type: string): string => (pool === 'plain' ? type : `${type}|null`);
  await client.createPool(pool);
  const body: string[] = [];
  for (let i = 0; i < rows; i++) {
    const values = columns.map(({ name, type, of }) => {
      const x = random.below(1 << 30);
      const isNull = random.below(10) === 0 && pool === 'holed';
      return `${name}:${isNull ? 'null' : type === 'string' || type === 'bool' || type === 'time' || type === 'float64' ? of(x) : `${of(x)}::${type}`}::(${typeOf(type)})`;
    });
    body.push(`{${values.join()}}`);
    if (body.length === batchRows || i === rows - 1) await post(client, pool, body.splice(0).join('\n'));
  }
};
const post = async (client: Client, pool: PoolName, body: string): Promise<void> => {
  const { status, body: answer } = await client.ask('POST', `/pool/${pool}/branch/main`, {
    headers: { 'content-type': 'application/x-sup' },
    body,
  });
  if (status !== 200) throw new Error(answer);
};

/** Milliseconds of processor time that a process has taken, all threads together. */
const processorMs = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => {
    try {
      return sum + Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
    } catch {
      // The thread has ended meanwhile.
      return sum;
    }
  }, 0);

const measure = async (rows: number, runs: number): Promise<void> => {
  const service = await startBuiltService({ asShipped: true });
  const client = clientOf(service.address);
  const pid = service.process.pid!;
  const all: Record<PoolName, number[]> = { plain: [], nullable: [], holed: [] };
  try {
    for (const pool of pools) await fill(client, pool, rows);
    for (const query of queries) {
      const times: Record<PoolName, number[]> = { plain: [], nullable: [], holed: [] };
      for (let run = -2; run < runs; run++) {
        for (const pool of pools) {
          const began = processorMs(pid);
          await client.query(query.replaceAll('POOL', pool));
          if (run >= 0) times[pool].push(processorMs(pid) - began);
        }
      }
      const plain = median(times.plain);
      const ratio = (pool: PoolName): string => (median(times[pool]) / plain).toFixed(2);
      for (const pool of pools) all[pool].push(median(times[pool]) / plain);
      console.log(
        `${plain.toFixed(1).padStart(8)} ms  never null ${ratio('nullable')}  10 % null ${ratio('holed')}  ${query}`,
      );
    }
    const mean = (list: readonly number[]): string =>
      Math.exp(list.reduce((sum, x) => sum + Math.log(x), 0) / list.length).toFixed(2);
    console.log(`geometric mean: never null ${mean(all.nullable)}, 10 % null ${mean(all.holed)} of plain`);
  } finally {
    client.close();
    await service.stop();
  }
};

const option = (name: string, usual: number): number => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? usual : Number(process.argv[at + 1]);
};
await measure(option('rows', 300_000), option('runs', 9));
