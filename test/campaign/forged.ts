/**
 * Part `forged`: rows are made of the lake's own bytes: of its log's records and heads, of LMDB's pages, of records
 * with checksums of every kind that can be computed without the salt, at every alignment; between them wraps of
 * segments, bases, clean stops, kills, and power cuts that leave such bytes behind the end. Nothing is ever read that
 * was not committed.
 */
import { createHash, randomBytes } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { crc32 } from 'node:zlib';
import type { Change, Tables } from '../../src/lake/tables/tables.ts';
import { program } from '../support/service/built.ts';
import { type Random, randomOf } from '../support/random.ts';
import type { PartRun } from './part.ts';

const part = (path: string): Promise<unknown> => import(pathToFileURL(join(dirname(program), path)).href);
const { openTables, markClosed } = (await part(
  'lake/repair/recovery.js',
)) as typeof import('../../src/lake/repair/recovery.ts');
const { tablesFolder } = (await part('lake/repair/replay.js')) as typeof import('../../src/lake/repair/replay.ts');
const { LogRead, segmentPath } = (await part('lake/log/reader.js')) as typeof import('../../src/lake/log/reader.ts');
const { Checkpoints } = (await part(
  'lake/tables/checkpoints.js',
)) as typeof import('../../src/lake/tables/checkpoints.ts');

/** Rows of a seed, and after how many of them the lake ends, one way or another. */
const rowsPerSeed = 500;
const rowsPerLife = 40;
const sizes = { applyBytes: 8192, segmentBytes: 65_536 };

export const forged: PartRun = async ({ folder, seeds, count, failed }) => {
  for (const seed of seeds) {
    const random = randomOf(seed + 41);
    const model = new Map<number, Buffer>();
    let lake = join(folder, `${seed}-0`);
    let lives = 0;
    for (let done = 0; done < rowsPerSeed; lives++) {
      const open = await openTables({ directory: lake, ...sizes });
      const { tables } = open;
      const wrong = faultOf(tables, model);
      if (wrong !== undefined) {
        failed(seed, `life ${lives}: ${wrong}`);
        await tables.close();
        break;
      }
      const checkpoints = new Checkpoints({
        directory: lake,
        ...open,
        report: (fault) => {
          failed(seed, String(fault));
        },
        bytesMin: 65_536,
      });
      for (let n = 0; n < rowsPerLife && done < rowsPerSeed; n++, done++) {
        const group = Array.from({ length: 1 + random.below(3) }, (): Change => {
          const key = random.below(60);
          const payload = forgery(lake, random);
          model.set(key, payload);
          return { table: 'bodies', key: keyOf(key), payload };
        });
        await tables.write(group, undefined, { alone: random.below(2) === 0 });
        count('rows', group.length);
      }
      const way = random.below(3);
      const left = join(folder, `${seed}-${lives + 1}`);
      count(['clean stops', 'kills', 'power cuts'][way]!);
      if (way > 0) cpSync(lake, left, { recursive: true });
      await checkpoints.close();
      if ((await tables.close()) && way === 0) markClosed(tablesFolder(lake));
      if (way === 0) continue;
      if (way === 2) tearEnd(left, random);
      if (random.below(3) === 0) rmSync(tablesFolder(left), { recursive: true });
      rmSync(lake, { recursive: true });
      lake = left;
    }
    rmSync(lake, { recursive: true, force: true });
  }
};

const keyOf = (n: number): Buffer => Buffer.alloc(20, n + 1);
const faultOf = (tables: Tables, model: ReadonlyMap<number, Buffer>): string | undefined => {
  const rows = tables.rows('bodies');
  for (const { key, payload } of rows)
    if (!model.get(key[0]! - 1)?.equals(payload)) return `row ${key[0]! - 1} is another`;
  if (rows.length !== model.size) return `${rows.length} rows of ${model.size}`;
  return tables.rows('pools').length > 0 ? 'a pool that nobody made' : undefined;
};

/** What was being written when the power went is what a client chose. */
const tearEnd = (lake: string, random: Random): void => {
  const place = new LogRead(lake).finish().place!;
  const path = segmentPath(lake, place.segment);
  const bytes = readFileSync(path);
  forgery(lake, random).copy(bytes, place.end);
  writeFileSync(path, bytes);
};

const filesOf = (lake: string): readonly string[] =>
  ['log', 'base', 'tables'].flatMap((name) =>
    existsSync(join(lake, name)) ? readdirSync(join(lake, name)).map((file) => join(lake, name, file)) : [],
  );
/** Bytes of the lake's own, whole or changed into what a record might be for it. */
const forgery = (lake: string, random: Random): Buffer => {
  const bytes = readFileSync(random.pick(filesOf(lake)));
  const from = random.below(3) === 0 ? random.below(bytes.length + 1) : random.below((bytes.length >> 3) + 1) << 3;
  const taken = Buffer.from(bytes.subarray(from, from + 64 + random.below(3000)));
  const out = Buffer.concat([Buffer.alloc(random.below(9)), taken]);
  if (random.below(2) === 0) return out;
  // A pool that nobody made, as a record of the place after the last one.
  const place = new LogRead(lake).finish().place!;
  const payload = Buffer.concat([Buffer.from([1, 20]), randomBytes(20), Buffer.from([2, 0, 0, 0]), Buffer.from('{}')]);
  const head = Buffer.alloc(64);
  head.writeUInt32LE(payload.length, 0);
  head.writeUInt32LE(1, 4);
  head.writeBigUInt64LE(BigInt(place.number + 1 + random.below(2)), 8);
  place.digest.copy(head, 16);
  createHash('sha256').update(payload).digest().copy(head, 32, 0, 16);
  const guesses = [Buffer.alloc(16), randomBytes(16), place.digest, Buffer.from(place.lake)];
  const salt = random.pick(guesses);
  const digest =
    random.below(3) === 0
      ? Buffer.alloc(16, crc32(Buffer.concat([head.subarray(0, 48), payload])) & 0xff)
      : createHash(random.pick(['sha256', 'sha1', 'md5']))
          .update(salt)
          .update(head.subarray(0, 48))
          .digest();
  digest.copy(head, 48, 0, 16);
  return Buffer.concat([
    Buffer.alloc(random.below(2) * 8),
    head,
    payload,
    Buffer.alloc((8 - (payload.length % 8)) % 8),
    out,
  ]);
};
