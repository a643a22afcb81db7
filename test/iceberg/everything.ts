/** A lake of what strangers have: the files of vega-datasets, the benchmark's records, and values of every type. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeEvents } from '../bench/events.ts';

/** What is loaded into a pool of its own. */
export interface Piece {
  readonly pool: string;
  readonly bytes: Uint8Array;
  readonly type: string;
}
const mediaTypes: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.tsv': 'text/tab-separated-values',
  '.json': 'application/json',
  '.parquet': 'application/x-parquet',
  '.arrow': 'application/vnd.apache.arrow.file',
  '.arrows': 'application/vnd.apache.arrow.stream',
  '.sup': 'application/x-sup',
};

const datasets = fileURLToPath(new URL('../../node_modules/vega-datasets/data/', import.meta.url));
const samples = fileURLToPath(new URL('../cases/formats/samples/', import.meta.url));
/** Values of every type, alone and mixed, in columns of one type and of many. */
const sampleNames = ['values.sup', 'mixed.sup', 'nulls.sup', 'columns.sup', 'columns.parquet', 'lines.sup'];

const pieceOf = (folder: string, name: string, pool = name): Piece => ({
  pool: pool.replaceAll('.', '-'),
  bytes: unpacked(readFileSync(join(folder, name)), extname(name)),
  type: mediaTypes[extname(name)] ?? '',
});
/** The items of an array as values of their own. */
const unpacked = (bytes: Buffer, extension: string): Buffer => {
  if (extension !== '.json' || bytes[0] !== '['.charCodeAt(0)) return bytes;
  const items = JSON.parse(bytes.toString()) as readonly unknown[];
  return Buffer.from(items.map((item) => JSON.stringify(item)).join('\n'));
};

/** All of it; `bytesMax`: without files of vega-datasets that are longer. */
export const everything = async (bytesMax: number): Promise<readonly Piece[]> => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-everything-'));
  try {
    await writeEvents(join(folder, 'events.json'), 2_000);
    return [
      ...readdirSync(datasets)
        .filter((name) => extname(name) in mediaTypes && statSync(join(datasets, name)).size <= bytesMax)
        .map((name) => pieceOf(datasets, name)),
      ...sampleNames.map((name) => pieceOf(samples, name, `sample-${name}`)),
      pieceOf(folder, 'events.json', 'benchmark'),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
