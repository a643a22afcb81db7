/**
 * The peak memory of large queries: `npm run bench:memory-queries -- --rows 10000000 --only 'sort|join' --lake
 * /somewhere/kept`.
 *
 * Rows are made as they are sent; each step's figure is the highest resident memory that the service's process had
 * while the step ran (/proc, reset before it). Answers are checked against what the rows were made from.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { residentMib } from '../../support/resident.ts';
import { startBuiltService } from '../../support/service/built.ts';
import { printFigures } from '../../support/figures.ts';
import { randomOf } from '../../support/random.ts';

interface QueryFigures {
  readonly step: string;
  readonly seconds: number;
  readonly peakMb: number;
  readonly fault: string | undefined;
}

/** Rows of a piece of the body. */
const pieceRows = 4096;
/** All numbers have as many digits. */
const firstNumber = 1_000_000_000;
/** Without a common divisor with powers of ten: numbers times this, modulo one of them, meet each once. */
const stride = 7_654_321;

/**
 * A piece of the body whose rows get other numbers each time: `k` a shuffled number, unlike in all rows, `n` the row's
 * number, `g` one of half as many.
 */
class Piece {
  readonly bytes: Buffer;
  private readonly starts: number[] = [];
  private readonly rows: number;

  constructor(rows: number) {
    this.rows = rows;
    const random = randomOf(5);
    const lines: string[] = [];
    let at = 0;
    for (let i = 0; i < pieceRows; i++) {
      const address = `10.${random.below(256)}.${random.below(256)}.${random.below(256)}`;
      const text = random.hex(8);
      const line = `{"k":${firstNumber},"n":${firstNumber},"g":${firstNumber},"uid":"C${firstNumber}","kind":"${random.pick(['conn', 'http', 'alert'])}","user":"user${random.below(20_000)}","src":"${address}","path":"/api/items/${random.below(100_000)}","text":"${text}","dur":${random.below(5_000_000) / 1e6},"odd":${random.pick(['null', '1', '"x"'])}}\n`;
      this.starts.push(at);
      at += line.length;
      lines.push(line);
    }
    this.bytes = Buffer.from(lines.join(''));
  }

  /** The bytes of the rows from `first` on. */
  numbered(first: number, count: number): Buffer {
    const out = Buffer.from(this.bytes);
    const { rows } = this;
    for (let i = 0; i < count; i++) {
      const at = this.starts[i]!;
      const n = first + i;
      const k = (n * stride) % rows;
      out.write(String(firstNumber + k), at + 5, 'latin1');
      out.write(String(firstNumber + n), at + 20, 'latin1');
      out.write(String(firstNumber + (k % Math.ceil(rows / 2))), at + 35, 'latin1');
      out.write(String(firstNumber + k), at + 54, 'latin1');
    }
    return count < pieceRows ? out.subarray(0, this.starts[count]!) : out;
  }
}

interface Step {
  readonly name: string;
  readonly query: (rows: number) => string;
  readonly check: (rows: number) => Check;
}
/** Looks at the lines of an answer as they come; `end` tells what is wrong. */
interface Check {
  readonly line: (line: Buffer) => void;
  readonly end: () => string | undefined;
}

/** The answer is one line. */
const says = (wanted: string): Check => {
  let said = '';
  return {
    line: (line) => {
      said += line.toString();
    },
    end: () => (said.replaceAll(' ', '') === wanted ? undefined : said),
  };
};
const saysOf =
  (wanted: (rows: number) => string) =>
  (rows: number): Check =>
    says(wanted(rows));
/** Lines begin with the numbers from 0 on. */
const ascending = (rows: number): Check => {
  let count = 0;
  let wrong: string | undefined;
  return {
    line: (line) => {
      if (line.toString('latin1', 5, 15) !== String(firstNumber + count)) wrong ??= `row ${count}: ${line.toString()}`;
      count++;
    },
    end: () => wrong ?? (count === rows ? undefined : `${count} rows`),
  };
};
/** Pairs of rows of one number. */
const paired = (count: number) => (): Check => {
  let met = 0;
  let wrong: string | undefined;
  return {
    line: (line) => {
      const text = line.toString('latin1');
      const [left, right] = [...text.matchAll(/"m":(\d+)/g)].map((m) => m[1]);
      if (left === undefined || left !== right) wrong ??= text;
      met++;
    },
    end: () => wrong ?? (met === count ? undefined : `${met} pairs`),
  };
};
const half = (rows: number): number => Math.ceil(rows / 2);
const tenth = (rows: number): number => Math.ceil(rows / 10);
const sum = (from: number, count: number): string => String((BigInt(count) * BigInt(2 * from + count - 1)) / 2n);
const side = (from: number, rows: number): string =>
  `from large | n >= ${firstNumber + from * tenth(rows)} and n < ${firstNumber + (from + 1) * tenth(rows)} | m:=(n - ${firstNumber}) % ${tenth(rows)}`;

const steps: readonly Step[] = [
  { name: 'sort of all rows, out as JSON', query: () => 'from large | sort k', check: ascending },
  {
    name: 'group by half as many keys',
    query: () =>
      'from large | aggregate c:=count(),s:=sum(n) by g | aggregate groups:=count(),most:=max(c),total:=sum(s)',
    check: saysOf((rows) => `{"groups":${half(rows)},"most":${2},"total":${sum(firstNumber, rows)}}`),
  },
  {
    name: 'join of a tenth with a tenth',
    query: (rows) => `${side(0, rows)} | join (${side(1, rows)}) as {l,r} on l.m==r.m | values {l,r}`,
    check: (rows) => paired(tenth(rows))(),
  },
  {
    name: 'distinct of all rows',
    query: () => 'from large | distinct uid | aggregate c:=count(),total:=sum(k)',
    check: saysOf((rows) => `{"c":${rows},"total":${sum(firstNumber, rows)}}`),
  },
  {
    name: 'except of all rows',
    query: (rows) =>
      `select count(*) as c from (select uid,k from large except select uid,k from large where n >= ${firstNumber + tenth(rows)})`,
    check: saysOf((rows) => `{"c":${tenth(rows)}}`),
  },
  {
    name: 'windows over all rows',
    query: (rows) =>
      `select max(r) as most,count(*) as c from (select row_number() over (partition by k % 3 order by k) as r from large) where r >= ${0}`,
    check: saysOf((rows) => `{"most":${Math.ceil(rows / 3)},"c":${rows}}`),
  },
  {
    name: 'fuse of all rows',
    query: () => 'from large | fuse | aggregate c:=count()',
    check: saysOf((rows) => `{"c":${rows}}`),
  },
];

/** Pools of long rows: so many rows with a text of so many bytes each, which begins with a shuffled number. */
interface LongRows {
  readonly pool: string;
  readonly rows: number;
  readonly bytes: number;
}
/** Rows that are large together, and each by itself; of little memory fewer and shorter ones. */
const longPools = (isSmall: boolean): readonly LongRows[] => [
  { pool: 'long', rows: isSmall ? 3000 : 20_000, bytes: 10_700 },
  { pool: 'huge', rows: 11, bytes: isSmall ? 1_000_000 : 12_000_000 },
];
function* longBody({ rows, bytes }: LongRows): Generator<Buffer> {
  const filler = randomOf(7).hex(Math.ceil(bytes / 2));
  for (let n = 0; n < rows; n++) {
    const k = firstNumber + ((n * stride) % rows);
    yield Buffer.from(`{"k":${k},"n":${firstNumber + n},"t":"${k}${filler.slice(n)}${filler.slice(0, n)}"}\n`);
  }
}
/** Each operator that spills, with the text as its key, and those that only pass rows on. */
const longSteps = (pool: string): readonly Step[] => [
  { name: `sort by ${pool} text`, query: () => `from ${pool} | sort t | cut k`, check: ascending },
  {
    name: `last by ${pool} text`,
    query: () => `from ${pool} | sort -r t | head 1 | cut k`,
    check: saysOf((rows) => `{"k":${firstNumber + rows - 1}}`),
  },
  {
    name: `filter of ${pool} text`,
    query: () => `select count(*) as c from ${pool} where t like '%zzz%'`,
    check: saysOf(() => '{"c":0}'),
  },
  {
    name: `group by ${pool} text`,
    query: () => `select count(*) as c,sum(n) as total from (select t,n,count(*) as m from ${pool} group by t,n)`,
    check: saysOf((rows) => `{"c":${rows},"total":${sum(firstNumber, rows)}}`),
  },
  {
    name: `distinct of ${pool} text`,
    query: () => `from ${pool} | distinct t | aggregate c:=count()`,
    check: saysOf((rows) => `{"c":${rows}}`),
  },
  {
    name: `except of ${pool} text`,
    query: (rows) =>
      `select count(*) as c from (select t from ${pool} except select t from ${pool} where n >= ${firstNumber + tenth(rows)})`,
    check: saysOf((rows) => `{"c":${tenth(rows)}}`),
  },
  {
    name: `join on ${pool} text`,
    query: () => `select count(*) as c from ${pool} a join ${pool} b on a.t=b.t`,
    check: saysOf((rows) => `{"c":${rows}}`),
  },
  {
    name: `window by ${pool} text`,
    query: () => `select max(r) as most,count(*) as c from (select row_number() over (order by t) as r from ${pool})`,
    check: saysOf((rows) => `{"most":${rows},"c":${rows}}`),
  },
];
/** So many rows and more are a large run. */
const largeRows = 1_000_000;

/**
 * Loads so many rows into a new service and watches its memory in each step. `lake`: a folder that is kept; if it is
 * there already, its rows are not loaded again.
 */
export const measureQueries = async ({
  rows,
  flags = [],
  only,
  lake,
}: {
  readonly rows: number;
  readonly flags?: readonly string[];
  readonly only?: RegExp;
  readonly lake?: string;
}): Promise<readonly QueryFigures[]> => {
  const isLoaded = lake !== undefined && existsSync(lake);
  const service = await startBuiltService({ asShipped: true, flags, ...(lake !== undefined && { lake }) });
  const { pid } = service.process;
  const out: QueryFigures[] = [];
  const measured = async (step: string, work: () => Promise<string | undefined>): Promise<void> => {
    writeFileSync(`/proc/${pid!}/clear_refs`, '5');
    const began = performance.now();
    const fault = await work().catch((error: unknown) => String(error));
    const figures = { step, seconds: (performance.now() - began) / 1000, peakMb: peakOf(pid!), fault };
    out.push(figures);
    printFigures(step, {
      rows,
      seconds: figures.seconds.toFixed(1),
      'peak MB': figures.peakMb.toFixed(0),
      answer: fault ?? 'right',
    });
  };
  const loaded = async (pool: string, body: Iterable<Buffer>): Promise<void> => {
    if (isLoaded) return;
    await post(`${service.address}/pool`, JSON.stringify({ name: pool, layout: { order: 'asc', keys: [['n']] } }));
    await measured(`load of ${pool}`, async () => {
      await post(`${service.address}/pool/${pool}/branch/main`, Readable.from(body));
      return undefined;
    });
  };
  const asked = async (list: readonly Step[], count: number): Promise<void> => {
    for (const { name, query, check } of list) {
      if (only && !only.test(name)) continue;
      const { line, end } = check(count);
      await measured(name, async () => {
        await post(`${service.address}/query`, JSON.stringify({ query: query(count) }), line);
        return end();
      });
    }
  };
  try {
    const piece = new Piece(rows);
    const body = function* (): Generator<Buffer> {
      for (let at = 0; at < rows; at += pieceRows) yield piece.numbered(at, Math.min(pieceRows, rows - at));
    };
    await loaded('large', body());
    await asked(steps, rows);
    for (const long of longPools(rows < largeRows)) {
      await loaded(long.pool, longBody(long));
      await asked(longSteps(long.pool), long.rows);
    }
    return out;
  } finally {
    await service.stop();
  }
};

/** The highest resident memory since it was reset. */
const peakOf = (pid: number): number => residentMib(pid, 'VmHWM')!;

const post = (url: string, body: string | Readable, line?: (line: Buffer) => void): Promise<void> =>
  new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/x-ndjson' } },
      (response) => {
        let rest: Buffer = Buffer.alloc(0);
        response.on('data', (chunk: Buffer) => {
          const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
          let start = 0;
          for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
            if (response.statusCode === 200) line?.(bytes.subarray(start, end));
            start = end + 1;
          }
          rest = bytes.subarray(start);
        });
        response.on('error', reject);
        response.on('end', () => {
          if (response.statusCode === 200) resolve();
          else reject(new Error(`${response.statusCode} ${rest.toString()}`));
        });
      },
    );
    sent.on('error', reject);
    if (typeof body === 'string') sent.end(body);
    else body.pipe(sent);
  });

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name: string): string | undefined =>
    process.argv.includes(`--${name}`) ? process.argv[process.argv.indexOf(`--${name}`) + 1] : undefined;
  const only = option('only');
  const memory = option('memory');
  const lake = option('lake');
  const figures = await measureQueries({
    rows: Number(option('rows') ?? 10_000_000),
    ...(memory !== undefined && { flags: ['-memory', memory] }),
    ...(only !== undefined && { only: new RegExp(only) }),
    ...(lake !== undefined && { lake }),
  });
  if (figures.some((f) => f.fault !== undefined)) process.exitCode = 1;
}
