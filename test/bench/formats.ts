/**
 * Throughput of the readers and writers beside what one would use otherwise, in one run on the same rows, taking turns.
 * `npm run bench:formats [ROWS]`.
 *
 * Mixed rows (three shapes) go through the formats that hold them; the `http` rows alone, one shape, through those that
 * want columns. Every reader must give back what was written; times are printed and returned, never judged here.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse as parseCsv } from 'csv-parse';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { type FormatName, type WriteOptions, createWriter, formatTable } from '../../src/formats/formats.ts';
import { type Vector, valueAt } from '../../src/vectors/vector.ts';
import { supText } from '../../src/vectors/sup/print.ts';
import { writeEvents } from './events.ts';

interface FormatFigures {
  readonly rows: number;
  /** Names of formats that have no reader or no writer yet. */
  readonly left: readonly string[];
  readonly lines: readonly Figure[];
}
/**
 * `ratio`: how many times as fast as the peer, in the unit that the line compares; `rowsRatio` in rows a second.
 * `right`: what came out was what went in.
 */
interface Figure {
  readonly what: string;
  readonly megabytesPerSecond: number;
  readonly rowsPerSecond: number;
  readonly peer?: string;
  readonly ratio?: number;
  readonly rowsRatio?: number;
  readonly wanted?: number;
  readonly right: boolean;
}

interface Timed {
  readonly ms: number;
  readonly count: number;
}
type Run = () => Promise<number> | number;

/** Runs take turns, so that all see the same weather; the middle time of each. The first turn warms up. */
const timed = async (runs: readonly Run[], turns: number): Promise<readonly Timed[]> => {
  const times = runs.map((): number[] => []);
  const counts: number[] = [];
  for (let turn = 0; turn <= turns; turn++) {
    for (const [k, run] of runs.entries()) {
      const began = performance.now();
      counts[k] = await run();
      if (turn > 0) times[k].push(performance.now() - began);
    }
  }
  return runs.map((_, k) => ({ ms: times[k].sort((a, b) => a - b)[times[k].length >> 1], count: counts[k] }));
};

const pieceBytes = 1 << 18;
/** As a socket gives them. */
const pieces = async function* (bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
};
const batchesOf = async (format: FormatName, bytes: Uint8Array): Promise<Vector[]> => {
  const out: Vector[] = [];
  for await (const batch of formatTable[format].reader!(pieces(bytes), {})) out.push(batch);
  return out;
};
const countRows = async (format: FormatName, bytes: Uint8Array): Promise<number> => {
  let rows = 0;
  for await (const batch of formatTable[format].reader!(pieces(bytes), {})) rows += batch.length;
  return rows;
};
const encode = (format: FormatName, batches: readonly Vector[], options: WriteOptions = {}): Buffer => {
  const writer = createWriter(format, options);
  const chunks: Uint8Array[] = [];
  for (const batch of batches) chunks.push(...writer.write(batch));
  chunks.push(...writer.end());
  return Buffer.concat(chunks);
};
/** The bytes without keeping them. */
const encodedBytes = (format: FormatName, batches: readonly Vector[]): number => {
  const writer = createWriter(format);
  let size = 0;
  for (const batch of batches) for (const chunk of writer.write(batch)) size += chunk.length;
  for (const chunk of writer.end()) size += chunk.length;
  return size;
};

const rowsOf = (batches: readonly Vector[]): number => batches.reduce((sum, batch) => sum + batch.length, 0);

/** Formats that hold records of unlike types, and those that hold one type with its types kept. */
const mixedFormats = ['sup', 'ndjson', 'jsup', 'bsup', 'csup'] as const;
const columnFormats = ['arrows', 'parquet'] as const;
const textFormats = ['csv', 'tsv', 'line', 'zeek', 'table'] as const;

export const measureFormats = async (rows: number, turns = 9): Promise<FormatFigures> => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-formats-'));
  const lines: Figure[] = [];
  const left = Object.values(formatTable)
    .filter((f) => f.mediaTypes.length > 0 && ((!f.reader && !f.readAs) || !f.writer))
    .map((f) => f.name);
  try {
    const path = join(folder, 'events.ndjson');
    await writeEvents(path, rows);
    const ndjson = readFileSync(path);
    const mixed = await batchesOf('json', ndjson);
    const flatText = ndjson
      .toString()
      .split('\n')
      .filter((line) => line.includes('"kind":"http"'));
    const flatNdjson = Buffer.from(flatText.map((line) => `${line}\n`).join(''));
    const flat = await batchesOf('json', flatNdjson);
    const has = (format: FormatName): boolean => !left.includes(format);
    lines.push(await ndjsonIn(ndjson, rows, turns));
    if (has('csv')) lines.push(await csvIn(encode('csv', flat), flatText.length, turns));
    if (has('bsup')) {
      lines.push(await binaryIn('bsup', { ndjson, batches: mixed }, turns));
      lines.push(await binaryIn('bsup', { ndjson, batches: mixed, options: { bsupCompress: false } }, turns));
    }
    if (has('csup')) lines.push(await binaryIn('csup', { ndjson, batches: mixed }, turns));
    if (has('jsup')) lines.push(await input('jsup', mixed, turns));
    if (has('arrows')) lines.push(await binaryIn('arrows', { ndjson: flatNdjson, batches: flat }, turns));
    if (has('parquet')) {
      lines.push(await parquetIn(encode('parquet', flat), flat, turns));
      lines.push(await parquetOut(flat, flatText, turns));
    }
    for (const format of mixedFormats) if (has(format)) lines.push(await output(format, mixed, ndjson.length, turns));
    for (const format of [...columnFormats, ...textFormats])
      if (has(format)) lines.push(await output(format, flat, flatNdjson.length, turns));
  } finally {
    rmSync(folder, { recursive: true });
  }
  return { rows, left, lines };
};

interface Compared {
  readonly what: string;
  readonly peer: string;
  readonly wanted: number;
  readonly bytes: number;
  readonly rows: number;
  readonly right?: boolean;
}
const compared = (
  [ours, theirs]: readonly Timed[],
  { what, peer, wanted, bytes, rows, right = true }: Compared,
): Figure => ({
  what,
  peer,
  wanted,
  megabytesPerSecond: bytes / ours.ms / 1e3,
  rowsPerSecond: (rows / ours.ms) * 1e3,
  ratio: theirs.ms / ours.ms,
  rowsRatio: theirs.ms / ours.ms,
  right: right && ours.count === rows && theirs.count === rows,
});

const parseLines = (bytes: Buffer): number => {
  let count = 0;
  for (let at = 0; at < bytes.length; count++) {
    const end = bytes.indexOf(10, at);
    JSON.parse(bytes.toString('utf8', at, end));
    at = end + 1;
  }
  return count;
};
const ndjsonIn = async (bytes: Buffer, rows: number, turns: number): Promise<Figure> =>
  compared(await timed([() => countRows('json', bytes), () => parseLines(bytes)], turns), {
    what: 'ndjson in',
    peer: 'JSON.parse line by line',
    wanted: 1,
    bytes: bytes.length,
    rows,
  });

const csvIn = async (bytes: Buffer, rows: number, turns: number): Promise<Figure> =>
  compared(
    await timed(
      [
        () => countRows('csv', bytes),
        () =>
          new Promise<number>((resolve, reject) => {
            let count = -1;
            const parser = parseCsv();
            parser.on('data', () => {
              count++;
            });
            parser.on('end', () => {
              resolve(count);
            });
            parser.on('error', reject);
            for (let at = 0; at < bytes.length; at += pieceBytes) parser.write(bytes.subarray(at, at + pieceBytes));
            parser.end();
          }),
      ],
      turns,
    ),
    { what: 'csv in', peer: 'csv-parse', wanted: 1, bytes: bytes.length, rows },
  );

/**
 * Bytes of the format a second, as they come over the wire, beside bytes a second of the same rows as NDJSON that
 * JSON.parse takes line by line.
 */
const binaryIn = async (
  format: FormatName,
  {
    ndjson,
    batches,
    options = {},
  }: { readonly ndjson: Buffer; readonly batches: readonly Vector[]; readonly options?: WriteOptions },
  turns: number,
): Promise<Figure> => {
  const bytes = encode(format, batches, options);
  const rows = rowsOf(batches);
  const size = ` (${(bytes.length / ndjson.length).toFixed(2)} of the size as NDJSON)`;
  const right = sampleText(await batchesOf(format, bytes)) === sampleText(batches);
  const [ours, theirs] = await timed([() => countRows(format, bytes), () => parseLines(ndjson)], turns);
  const what = `${format} in${options.bsupCompress === false ? ', not compressed' : ''}${size}`;
  const figure = compared([ours, theirs], {
    what,
    peer: 'bytes/s of JSON.parse line by line',
    wanted: 1.5,
    bytes: bytes.length,
    rows,
    right,
  });
  return { ...figure, ratio: bytes.length / ours.ms / (ndjson.length / theirs.ms) };
};
/** Rows regardless of how they were cut into batches. */
const sampleText = (batches: readonly Vector[]): string => {
  const rows: string[] = [];
  let at = 0;
  for (const batch of batches) {
    for (let row = (97 - (at % 97)) % 97; row < batch.length; row += 97) rows.push(supText(valueAt(batch, row)));
    at += batch.length;
  }
  return rows.join('\n');
};

/** A reader that has no peer. */
const input = async (format: FormatName, batches: readonly Vector[], turns: number): Promise<Figure> => {
  const bytes = encode(format, batches);
  const rows = rowsOf(batches);
  const right = sampleText(await batchesOf(format, bytes)) === sampleText(batches);
  const [ours] = await timed([() => countRows(format, bytes)], turns);
  return {
    what: `${format} in`,
    megabytesPerSecond: bytes.length / ours.ms / 1e3,
    rowsPerSecond: (rows / ours.ms) * 1e3,
    right: right && ours.count === rows,
  };
};

const parquetIn = async (bytes: Buffer, batches: readonly Vector[], turns: number): Promise<Figure> => {
  const file = new Uint8Array(bytes).buffer;
  const rows = rowsOf(batches);
  const right = sampleText(await batchesOf('parquet', bytes)) === sampleText(batches);
  return compared(
    await timed(
      [() => countRows('parquet', bytes), async () => (await parquetReadObjects({ file, compressors })).length],
      turns,
    ),
    { what: 'parquet in', peer: 'hyparquet parquetReadObjects', wanted: 1.5, bytes: bytes.length, rows, right },
  );
};

const parquetOut = async (batches: readonly Vector[], lines: readonly string[], turns: number): Promise<Figure> => {
  const objects = lines.map((line) => JSON.parse(line) as Readonly<Record<string, string | number>>);
  const names = Object.keys(objects[0] ?? {});
  const columnData = names.map((name) => {
    const data = objects.map((o) => o[name]);
    const type = typeof data[0] === 'string' ? 'STRING' : data.every(Number.isInteger) ? 'INT64' : 'DOUBLE';
    return {
      name,
      type: type as 'STRING' | 'INT64' | 'DOUBLE',
      data: type === 'INT64' ? data.map((x) => BigInt(x)) : data,
    };
  });
  const bytes = encodedBytes('parquet', batches);
  const rows = rowsOf(batches);
  return compared(
    await timed(
      [
        () => (encodedBytes('parquet', batches) > 0 ? rows : 0),
        () => (parquetWriteBuffer({ columnData }).byteLength > 0 ? rows : 0),
      ],
      turns,
    ),
    { what: 'parquet out', peer: 'hyparquet-writer alone', wanted: 1, bytes, rows },
  );
};

/** What reads an output again, and whether values come back as they were or only as many rows. */
const readAgain: Readonly<Partial<Record<FormatName, { readonly format: FormatName; readonly exact: boolean }>>> = {
  ndjson: { format: 'json', exact: true },
  csv: { format: 'csv', exact: false },
  tsv: { format: 'tsv', exact: false },
  zeek: { format: 'zeek', exact: false },
  line: { format: 'line', exact: false },
};

/** Figures of an output are megabytes of what is written; its size is told beside that of the same rows as NDJSON. */
const output = async (
  format: FormatName,
  batches: readonly Vector[],
  jsonBytes: number,
  turns: number,
): Promise<Figure> => {
  const [ours] = await timed([() => encodedBytes(format, batches)], turns);
  const rows = rowsOf(batches);
  const bytes = ours.count;
  const again = readAgain[format] ?? { format, exact: true };
  let right = bytes > 0;
  if (formatTable[again.format].reader) {
    const back = await batchesOf(again.format, encode(format, batches));
    right = rowsOf(back) === rows && (!again.exact || sampleText(back) === sampleText(batches));
  }
  return {
    what: `${format} out (${(bytes / jsonBytes).toFixed(2)} of the size as NDJSON)`,
    megabytesPerSecond: bytes / ours.ms / 1e3,
    rowsPerSecond: (rows / ours.ms) * 1e3,
    right,
  };
};

const text = ({ what, megabytesPerSecond, rowsPerSecond, peer, ratio, rowsRatio, wanted, right }: Figure): string => {
  const beside =
    ratio === undefined
      ? ''
      : `  ${ratio.toFixed(2)}x ${peer} (wanted ${wanted}x${ratio >= wanted! ? '' : ': MISSED'})${ratio === rowsRatio ? '' : `, ${rowsRatio!.toFixed(2)}x its rows/s`}`;
  return `${what.padEnd(62)}${megabytesPerSecond.toFixed(1).padStart(8)} MB/s ${(rowsPerSecond / 1e6).toFixed(2).padStart(6)} M rows/s${beside}${right ? '' : '  WRONG OUTPUT'}`;
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { rows, left, lines } = await measureFormats(Number(process.argv[2] ?? 200_000));
  console.log(`${rows} rows${left.length > 0 ? `; without reader or writer yet: ${left.join(', ')}` : ''}`);
  for (const line of lines) console.log(text(line));
}
