/**
 * How seven plain queries grow: `npm run bench:seven -- --rows 1000000,3000000,10000000 --runs 3`.
 *
 * One pool of eight columns of ClickBench's, made here, is loaded in parts of 1,000,000 rows, each a commit. At each of
 * the sizes the service is started again on it: the time to its first answer, then each query's processor time and the
 * greatest resident memory until it has been answered. Nine of ten visits of a part are of users that were there
 * before, mostly of few; the others are new, so that users, phrases and URLs grow with the rows. Answers are checked
 * where the rows tell what they are. It needs about 90 MB of disk for 1,000,000 rows, which are removed at the end.
 */
import { Readable } from 'node:stream';
import { request } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { median, ms, printFigures } from '../support/figures.ts';
import { type Random, randomOf } from '../support/random.ts';
import { residentMib } from '../support/resident.ts';
import { startBuiltService } from '../support/service/built.ts';
import { type Client, clientOf } from '../support/service/client.ts';
import { processorSecondsOf } from '../support/service/process-figures.ts';

const partRows = 1_000_000;
/** The row that look-ups find. */
const soughtRow = 7777;
/** Look-ups take less than the system counts: so many are asked for one figure. */
const lookUps = 50;
/** What is known of the rows so far. */
interface Known {
  rows: number;
  advertised: number;
  advSum: number;
  /** Of the row that look-ups find. */
  time: string;
  watch: string;
}

/** So many of n, most of them near 0. */
const skewed = (random: Random, n: number): number => Math.floor((random.below(n) * random.below(n)) / n);
const start = Date.UTC(2013, 6, 1);

/** Lines of NDJSON of rows `from` up to `end`, some thousands at a time. */
function* linesOf(from: number, end: number, known: Known): Generator<string> {
  const random = randomOf(1 + from);
  // A sixth as many users as rows.
  const users = Math.ceil(end / 6);
  for (let i = from; i < end; ) {
    const lines: string[] = [];
    for (const stop = Math.min(end, i + 5000); i < stop; i++) {
      const user = random.below(10) > 0 ? skewed(random, users) : users + random.below(users);
      const adv = random.below(30) === 0 ? 1 + skewed(random, 60) : 0;
      // An odd factor: each row has another id, of 63 bits, in no order.
      const watch = (BigInt(i + 1) * 0x9e3779b97f4a7c15n) & 0x7fffffffffffffffn;
      const phrase = random.below(6) === 0 ? `phrase ${skewed(random, 20)} ${skewed(random, Math.ceil(end / 30))}` : '';
      const url = `http://site${skewed(random, 5000)}.example/${skewed(random, Math.ceil(end / 8))}?id=${random.below(1000)}`;
      const time = new Date(start + i * 267).toISOString();
      if (adv > 0) known.advertised++;
      known.advSum += adv;
      if (i === soughtRow) Object.assign(known, { time, watch: String(watch) });
      lines.push(
        `{"WatchID":${watch},"AdvEngineID":${adv},"ResolutionWidth":${1024 + 256 * random.below(4)},` +
          `"UserID":${(BigInt(user + 1) * 0xbf58476d1ce4e5b9n) & 0x7fffffffffffffffn},"RegionID":${skewed(random, 5000)},` +
          `"SearchPhrase":"${phrase}","URL":"${url}","EventTime":"${time}"}\n`,
      );
    }
    yield lines.join('');
  }
  known.rows = end;
}

interface Question {
  readonly name: string;
  readonly text: (known: Known) => string;
  /** Asked for one figure. */
  readonly times?: number;
  readonly right?: (rows: readonly Record<string, unknown>[], known: Known) => boolean;
}
const grouped = (keys: string, what: string): string =>
  `select ${keys}, ${what} as n from hits group by ${keys} order by n desc limit 10`;
const questions: readonly Question[] = [
  {
    name: 'count where',
    text: () => 'select count(*) as n from hits where AdvEngineID <> 0',
    right: ([row], { advertised }) => row?.['n'] === advertised,
  },
  {
    name: 'sum, count, avg',
    text: () => 'select sum(AdvEngineID) as s, count(*) as n, avg(ResolutionWidth) as a from hits',
    right: ([row], { rows, advSum }) => row?.['n'] === rows && row['s'] === advSum,
  },
  { name: 'count distinct users', text: () => 'select count(distinct UserID) as n from hits' },
  { name: 'users by region', text: () => grouped('RegionID', 'count(distinct UserID)') },
  { name: 'by user', text: () => grouped('UserID', 'count(*)') },
  {
    name: 'by phrase',
    text: () =>
      "select SearchPhrase, count(*) as n from hits where SearchPhrase <> '' group by SearchPhrase order by n desc limit 10",
  },
  { name: 'by user and phrase', text: () => grouped('UserID, SearchPhrase', 'count(*)') },
  {
    name: 'look-up by key',
    times: lookUps,
    text: ({ time }) => `from hits | EventTime=='${time}' | count()`,
    right: ([row]) => (row?.['count'] ?? row) === 1,
  },
  {
    name: 'look-up by another id',
    times: lookUps,
    text: ({ watch }) => `from hits | WatchID==${watch} | count()`,
    right: ([row]) => (row?.['count'] ?? row) === 1,
  },
];

const loadPart = async (address: string, lines: Iterable<string>): Promise<void> =>
  new Promise((resolve, reject) => {
    const client = request(
      `${address}/pool/hits/branch/main`,
      { method: 'POST', headers: { 'content-type': 'application/json' } },
      (response) => {
        response.resume();
        response.on('end', () =>
          response.statusCode === 200 ? resolve() : reject(new Error(`load: ${response.statusCode}`)),
        );
      },
    );
    client.on('error', reject);
    Readable.from(lines).pipe(client);
  });

interface SizeFigures {
  readonly rows: number;
  readonly seconds: Readonly<Record<string, number>>;
  readonly peakMib: number;
  readonly wrong: readonly string[];
}

/** Asks all questions of a service that has just been started on the lake. */
const measure = async (lake: string, known: Known, runs: number): Promise<SizeFigures> => {
  const began = performance.now();
  const service = await startBuiltService({ asShipped: true, lake });
  const client = clientOf(service.address);
  const pid = service.process.pid!;
  const seconds: Record<string, number> = {};
  const wrong: string[] = [];
  try {
    await client.query('from hits | count()');
    const openMs = performance.now() - began;
    for (const { name, text, right, times = 1 } of questions) {
      const taken: number[] = [];
      for (let run = 0; run <= runs; run++) {
        const before = processorSecondsOf(pid);
        let rows: readonly Record<string, unknown>[] = [];
        for (let k = 0; k < times; k++) rows = await client.query<Record<string, unknown>>(text(known));
        if (run > 0) taken.push((processorSecondsOf(pid) - before) / times);
        if (right && !right(rows, known)) wrong.push(`${text(known)}: ${JSON.stringify(rows)}`);
      }
      seconds[name] = median(taken);
    }
    const peakMib = residentMib(pid, 'VmHWM') ?? NaN;
    printFigures('seven', {
      rows: known.rows,
      'open to first answer': ms(openMs),
      ...Object.fromEntries(Object.entries(seconds).map(([name, time]) => [name, ms(time * 1000)])),
      'peak MiB': peakMib,
    });
    return { rows: known.rows, seconds, peakMib, wrong };
  } finally {
    client.close();
    await service.end();
  }
};

/** Loads the rows up to `rows`, behind those that are there. */
const grow = async (lake: string, known: Known, rows: number): Promise<void> => {
  const service = await startBuiltService({ asShipped: true, lake });
  const client: Client = clientOf(service.address);
  const pid = service.process.pid!;
  try {
    if (known.rows === 0) await client.createPool('hits', 'EventTime');
    const from = known.rows;
    while (known.rows < rows)
      await loadPart(service.address, linesOf(known.rows, Math.min(rows, known.rows + partRows), known));
    const seconds = processorSecondsOf(pid);
    printFigures('load', {
      rows: rows - from,
      'processor seconds for 1,000,000': ((seconds / (rows - from)) * 1e6).toFixed(2),
      'peak MiB': residentMib(pid, 'VmHWM') ?? NaN,
    });
  } finally {
    client.close();
    await service.end();
  }
};

/** Measures a pool at each of the sizes, which rise. */
export const measureSeven = async (sizes: readonly number[], runs: number): Promise<readonly SizeFigures[]> => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-seven-'));
  const known: Known = { rows: 0, advertised: 0, advSum: 0, time: '', watch: '' };
  const figures: SizeFigures[] = [];
  try {
    for (const rows of sizes) {
      await grow(join(folder, 'lake'), known, rows);
      figures.push(await measure(join(folder, 'lake'), known, runs));
    }
    return figures;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name: string, standard: string): string =>
    process.argv.includes(`--${name}`) ? (process.argv[process.argv.indexOf(`--${name}`) + 1] ?? standard) : standard;
  const figures = await measureSeven(
    option('rows', '1000000,10000000').split(',').map(Number),
    Number(option('runs', '3')),
  );
  for (const [small, large] of figures.slice(1).map((size, i) => [figures[i]!, size] as const))
    printFigures(`${large.rows / small.rows} times the rows`, {
      ...Object.fromEntries(
        Object.entries(large.seconds).map(([name, time]) => [name, (time / small.seconds[name]!).toFixed(2)]),
      ),
      'peak memory': (large.peakMib / small.peakMib).toFixed(2),
    });
  const wrong = figures.flatMap((size) => size.wrong);
  for (const fault of wrong) process.stderr.write(`wrong: ${fault}\n`);
  process.exitCode = wrong.length === 0 ? 0 : 1;
}
