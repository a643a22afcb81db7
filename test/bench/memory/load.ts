/**
 * Memory of the service while it loads more than it may hold: `npm run bench:memory -- --gigabytes 10`.
 *
 * Rows are made as they are sent, once in the order of the pool's key and once out of it; what was loaded is counted
 * and summed. The figures are those of the service's process in /proc.
 */
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { residentMib } from '../../support/resident.ts';
import { startBuiltService } from '../../support/service/built.ts';
import { printFigures } from '../../support/figures.ts';
import { randomOf } from '../../support/random.ts';

interface MemoryFigures {
  readonly order: 'ordered' | 'shuffled';
  readonly bytes: number;
  readonly rows: number;
  readonly seconds: number;
  readonly peakMb: number;
  readonly right: boolean;
}

/** Rows of a piece of the body. */
const pieceRows = 4096;
/** All numbers have as many digits. */
const firstNumber = 1_000_000_000;

/** A piece of the body whose rows get other numbers each time. */
class Piece {
  readonly bytes: Buffer;
  private readonly places: number[] = [];

  constructor() {
    const random = randomOf(5);
    const lines: string[] = [];
    let at = 0;
    for (let i = 0; i < pieceRows; i++) {
      const line = `{"n":${firstNumber},"kind":"${random.pick(['conn', 'http', 'alert'])}","uid":"C${random.hex(10)}","user":"user${random.below(20_000)}","path":"/items/${random.below(100_000)}","dur":${random.below(5_000_000) / 1e6},"odd":${random.pick(['null', '1', '"x"'])}}\n`;
      this.places.push(at + 5);
      at += line.length;
      lines.push(line);
    }
    this.bytes = Buffer.from(lines.join(''));
  }

  /** The bytes with the numbers from `first` on. */
  numbered(first: number): Buffer {
    const out = Buffer.from(this.bytes);
    this.places.forEach((place, i) => {
      out.write(String(firstNumber + first + i), place, 'latin1');
    });
    return out;
  }
}

/** Loads about so many bytes into a new service and watches its memory. */
const measureLoad = async (
  order: MemoryFigures['order'],
  bytes: number,
  flags: readonly string[] = [],
): Promise<MemoryFigures> => {
  const service = await startBuiltService({ asShipped: true, flags });
  try {
    const piece = new Piece();
    const pieces = Math.ceil(bytes / piece.bytes.length);
    const rows = pieces * pieceRows;
    const body = function* (): Generator<Buffer> {
      // A step that shares no divisor with the number of pieces reaches each of them once.
      let step = order === 'ordered' ? 1 : Math.floor(pieces * 0.618) | 1;
      while (divisor(step, pieces) > 1) step += 2;
      for (let i = 0; i < pieces; i++) yield piece.numbered(((i * step) % pieces) * pieceRows);
    };
    await post(`${service.address}/pool`, JSON.stringify({ name: 'large', layout: { order: 'asc', keys: [['n']] } }));
    const started = performance.now();
    await post(`${service.address}/pool/large/branch/main`, Readable.from(body()));
    const seconds = (performance.now() - started) / 1000;
    const peakMb = peakOf(service.process.pid!);
    const found = await post(
      `${service.address}/query`,
      JSON.stringify({ query: 'from large | count(), sum(n), min(n), max(n)' }),
    );
    const last = firstNumber + rows - 1;
    const sum = ((BigInt(firstNumber) + BigInt(last)) * BigInt(rows)) / 2n;
    const right = found.replace(/\s/g, '') === `[{"count":${rows},"sum":${sum},"min":${firstNumber},"max":${last}}]`;
    return { order, bytes: pieces * piece.bytes.length, rows, seconds, peakMb, right };
  } finally {
    await service.stop();
  }
};

const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));
/** The highest resident memory that the process ever had. */
const peakOf = (pid: number): number => residentMib(pid, 'VmHWM')!;

const post = (url: string, body: string | Readable): Promise<string> =>
  new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json' } },
      (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => {
          text += chunk.toString();
        });
        response.on('end', () => {
          if (response.statusCode === 200) resolve(text);
          else reject(new Error(`${url}: ${response.statusCode} ${text}`));
        });
      },
    );
    sent.on('error', reject);
    if (typeof body === 'string') sent.end(body);
    else body.pipe(sent);
  });

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const at = process.argv.indexOf('--gigabytes');
  const gigabytes = at < 0 ? 10 : Number(process.argv[at + 1]);
  for (const order of ['ordered', 'shuffled'] as const) {
    const { bytes, rows: count, seconds, peakMb, right } = await measureLoad(order, gigabytes * 1e9);
    printFigures(`load ${order}`, {
      GB: (bytes / 1e9).toFixed(2),
      rows: count,
      seconds: seconds.toFixed(1),
      'peak MB': peakMb.toFixed(0),
      answers: right ? 'right' : 'WRONG',
    });
    if (!right) process.exitCode = 1;
  }
}
