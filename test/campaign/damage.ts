/**
 * Parts `objects`, `tables` and `logs`: bytes are flipped, zeroed, cut off, doubled, swapped, files are lost. Of data
 * objects the reader gives the right rows or an error that names the object. Tables that are damaged or lost come back
 * by themselves. Of a log that is damaged, with the tables or without, the start gives right rows or says what is
 * wrong, and `lake fsck -repair` brings the lake back or names what is lost.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { LakeError } from '../../src/errors.ts';
import { allRows, writeBase } from '../../src/lake/log/base.ts';
import { newIdentity } from '../../src/lake/log/format.ts';
import { baseName, basePath, logIdentity } from '../../src/lake/log/reader.ts';
import { openObject, sourceOfBytes } from '../../src/lake/objects/reader.ts';
import { ObjectWriter } from '../../src/lake/objects/writer.ts';
import { tablesFolder } from '../../src/lake/repair/replay.ts';
import { openIndex } from '../../src/lake/tables/tables.ts';
import { vectorOf } from '../../src/vectors/builder.ts';
import { supText } from '../../src/vectors/sup/print.ts';
import { intValue, recordValue, stringValue, type Value } from '../../src/vectors/value.ts';
import { valueAt } from '../../src/vectors/vector.ts';
import { type Random, randomOf } from '../support/random.ts';
import { checkBuiltLake, openBuiltLake, repairBuiltLake, stateOf } from './built-lake.ts';
import type { PartRun } from './part.ts';
import { canonical, type LakeState, referenceOf, runVictim } from './run-victim.ts';
import { scriptCount, scriptOf } from './scripts.ts';

/** Damages bytes in one of the ways; undefined when that changes nothing. */
export const damaged = (
  sound: Buffer,
  random: Random,
): { readonly bytes: Buffer; readonly how: string } | undefined => {
  const bytes = Buffer.from(sound);
  const at = random.below(bytes.length);
  const length = 1 + random.below(Math.min(bytes.length - at, random.below(8) === 0 ? 8192 : 64));
  const way = random.below(7);
  const to = random.below(bytes.length - length + 1);
  const edits: readonly (readonly [string, () => Buffer])[] = [
    [
      'flipped',
      () => {
        bytes[at]! ^= 1 << random.below(8);
        return bytes;
      },
    ],
    [
      'changed',
      () => {
        bytes[at] = random.below(256);
        return bytes;
      },
    ],
    ['zeroed', () => bytes.fill(0, at, at + length)],
    ['set', () => bytes.fill(0xff, at, at + length)],
    ['cut', () => bytes.subarray(0, at)],
    [
      'moved',
      () => {
        sound.copy(bytes, to, at, at + length);
        return bytes;
      },
    ],
    [
      'swapped',
      () => {
        sound.copy(bytes, to, at, at + length);
        sound.copy(bytes, at, to, to + length);
        return bytes;
      },
    ],
  ];
  const [how, edit] = edits[way]!;
  const result = edit();
  return result.equals(sound)
    ? undefined
    : { bytes: result, how: `${how} at ${at}, ${length} bytes${way > 4 ? ` to ${to}` : ''} of ${sound.length}` };
};

/** Damaged copies of an object, by seed. */
const copiesPerSeed = 1000;
const id = 'd'.repeat(40);

export const objects: PartRun = async ({ seeds, count, failed }) => {
  for (const seed of seeds) {
    const random = randomOf(seed + 1);
    const sound = someObject(random);
    const wanted = await rowsOf(sound);
    for (let n = 0; n < copiesPerSeed; n++) {
      const copy = damaged(sound, random);
      if (!copy) continue;
      count('objects');
      try {
        if ((await rowsOf(copy.bytes)).join('\n') !== wanted.join('\n')) failed(seed, `wrong rows: ${copy.how}`);
        else count('harmless');
      } catch (error) {
        if (!(error instanceof LakeError) || !/^object-/.test(error.code) || !error.message.includes(id))
          failed(seed, `${copy.how}: ${error instanceof Error ? error.stack : String(error)}`);
        else count('named');
      }
    }
  }
};

/** Records of two shapes in one or more blocks, with columns of several encodings; small ones without zone maps. */
const someObject = (random: Random): Buffer => {
  const chunks: Uint8Array[] = [];
  const blocks = 1 + random.below(3);
  const rows = 1 + random.below(random.below(3) === 0 ? 400 : 40);
  const writer = new ObjectWriter(
    (chunk) => {
      chunks.push(chunk.slice());
    },
    { rowsExpected: random.below(2) === 0 ? 10_000 : 10, compressed: random.below(2) === 0 },
  );
  const record = (i: number): Value =>
    recordValue([
      { name: 'id', value: intValue(i * 7919) },
      { name: 'city', value: stringValue(random.pick(['Oslo', 'Rome', 'Wien'])) },
      { name: 'note', value: stringValue(random.hex(random.below(24))) },
      ...(random.below(3) === 0
        ? [{ name: 'deep', value: recordValue([{ name: 'x', value: intValue(random.below(5)) }]) }]
        : []),
    ]);
  for (let block = 0; block < blocks; block++)
    writer.block(vectorOf(Array.from({ length: rows }, (_, i) => record(block * rows + i))), {
      first: Buffer.of(1, block),
      last: Buffer.of(2, block),
    });
  writer.finish();
  return Buffer.concat(chunks);
};
const rowsOf = async (bytes: Uint8Array): Promise<readonly string[]> => {
  const reader = await openObject(sourceOfBytes(id, bytes));
  const rows: string[] = [];
  for (let block = 0; block < reader.blocks.length; block++) {
    const batch = await reader.read(block);
    for (let i = 0; i < batch.length; i++) rows.push(supText(valueAt(batch, i)));
  }
  return rows;
};

/** Lakes as an undisturbed run of a script leaves them, and what they held after each step. */
class SoundLakes {
  private readonly folder: string;
  private readonly known = new Map<number, readonly LakeState[]>();
  constructor(folder: string) {
    this.folder = folder;
  }

  /** A copy of one, to be damaged. */
  async copy(number: number): Promise<{ readonly lake: string; readonly states: readonly LakeState[] }> {
    const sound = join(this.folder, `sound-${number}`);
    const lake = join(this.folder, 'lake');
    let states = this.known.get(number);
    if (!states) this.known.set(number, (states = (await referenceOf(sound, scriptOf(number))).states));
    rmSync(lake, { recursive: true, force: true });
    cpSync(sound, lake, { recursive: true });
    return { lake, states };
  }

  /**
   * Puts a base among a lake's that another one wrote, or this one before a repair, up to a record before, at or far
   * after the log's end. Answers its name; undefined where that cannot be told, or there is one of that number.
   */
  async putForeignBase(lake: string, random: Random): Promise<string | undefined> {
    const record = random.pick([0, 1, random.below(40), 77_777]);
    const own = logIdentity(lake);
    const other = join(this.folder, `sound-${random.pick([...this.known.keys()])}`);
    const path = basePath(lake, record);
    if (!own || existsSync(path)) return undefined;
    const scratch = join(this.folder, 'foreign');
    const tables = openIndex(tablesFolder(other));
    const identity = newIdentity();
    try {
      await writeBase({
        directory: scratch,
        identity: random.below(2) === 0 ? identity : { ...own, salt: identity.salt },
        record,
        before: Buffer.from(random.hex(32), 'hex'),
        rows: allRows(tables),
      });
    } finally {
      await tables.close();
    }
    mkdirSync(dirname(path), { recursive: true });
    renameSync(basePath(scratch, record), path);
    return baseName(record);
  }
}
/** Names that are hard on whoever puts paths together. */
const folderNames = ['lake of others', 'ein See äöü 湖 😀', "it's %20 #1?&*", 'a\nb', '-lake', ' .. '];
/** The lake under another name, in the place of what was there. */
const renamed = (lake: string, random: Random): string => {
  const path = join(dirname(lake), random.pick(folderNames));
  rmSync(path, { recursive: true, force: true });
  renameSync(lake, path);
  return path;
};

/** Damages a file some times; says how. */
const damageFile = (path: string, random: Random): readonly string[] =>
  Array.from({ length: 1 + random.below(3) }, () => {
    const change = damaged(readFileSync(path), random);
    if (change) writeFileSync(path, change.bytes);
    return change?.how ?? 'nothing';
  });

export const tables: PartRun = async ({ folder, seeds, count, failed }) => {
  const lakes = new SoundLakes(folder);
  for (const seed of seeds) {
    const number = seed % scriptCount;
    const random = randomOf(seed + 31);
    const { lake, states } = await lakes.copy(number);
    const wanted = canonical(states.at(-1)!);
    const isLost = random.below(6) === 0;
    const isUnclean = random.below(3) === 0;
    const how = isLost ? 'lost' : damageFile(join(lake, 'tables', 'data.mdb'), random).join(', ');
    if (isLost) rmSync(join(lake, 'tables'), { recursive: true });
    if (isUnclean) {
      rmSync(join(lake, 'tables', 'closed'), { force: true });
      writeFileSync(join(lake, 'running'), 'process 1\n');
    }
    count(isLost ? 'lost' : 'damaged');
    const fault = await startOf(lake, wanted);
    if (fault !== undefined) failed(seed, `tables of script ${number}, ${how}: ${fault}`);
  }
};
/** A start, and a look at what it left. */
const startOf = async (lake: string, wanted: string): Promise<string | undefined> => {
  const { status, complaint, state } = await readState(lake);
  if (state === undefined) return `a start ended with ${status}: ${complaint}`;
  if (state !== wanted) return `a start gave ${state} in place of ${wanted}`;
  const { faults } = await checkBuiltLake(lake);
  return faults.length === 0 ? undefined : `fsck: ${faults.join('; ')}`;
};
const readState = async (
  lake: string,
): Promise<{ readonly status: number | string; readonly complaint: string; readonly state?: string }> => {
  const { status, complaint, lines } = await runVictim(lake, [], { mode: 'read' });
  const text = lines.map((line) => /^state end (.*) \{"state".*$/.exec(line)?.[1]).find((found) => found !== undefined);
  return { status, complaint, ...(text !== undefined && { state: canonical(JSON.parse(text) as LakeState) }) };
};

export const logs: PartRun = async ({ folder, seeds, count, failed }) => {
  const lakes = new SoundLakes(folder);
  for (const seed of seeds) {
    const number = seed % scriptCount;
    const random = randomOf(seed + 37);
    const { lake, states } = await lakes.copy(number);
    const files = ['log', 'base'].flatMap((name) =>
      existsSync(join(lake, name)) ? readdirSync(join(lake, name)).map((file) => join(lake, name, file)) : [],
    );
    const path = random.pick(files);
    // Most of a segment is room for what comes.
    const used = readFileSync(path);
    const end = used.findLastIndex((byte) => byte !== 0) + 1;
    const isLost = random.below(10) === 0;
    const isAlone = random.below(3) > 0;
    if (end === 0) continue;
    let how = 'lost';
    if (isLost) rmSync(path);
    else {
      const change = damaged(used.subarray(0, end), random);
      if (!change) continue;
      how = change.how;
      writeFileSync(path, Buffer.concat([change.bytes, used.subarray(end)]));
    }
    if (isAlone) rmSync(join(lake, 'tables'), { recursive: true });
    count(isAlone ? 'without tables' : 'with tables');
    const foreign = random.below(4) === 0 ? await lakes.putForeignBase(lake, random) : undefined;
    if (foreign !== undefined) count('with a base of another lake');
    const placed = random.below(4) === 0 ? renamed(lake, random) : lake;
    if (placed !== lake) count('renamed');
    const fault = await faultOfLog(placed, states, { isAlone, foreign, count }).catch((problem: unknown) =>
      String(problem),
    );
    if (placed !== lake) rmSync(placed, { recursive: true, force: true });
    if (fault !== undefined)
      failed(
        seed,
        `${path.slice(lake.length + 1)} of script ${number}, ${how}, tables ${isAlone ? 'lost' : 'sound'}${foreign === undefined ? '' : `, ${foreign}`}${placed === lake ? '' : `, renamed to ${placed}`}: ${fault}`,
      );
  }
};

type Flat = readonly (readonly [string, readonly (readonly [string, readonly number[]])[]])[];
const branchesOf = (flat: Flat): string =>
  JSON.stringify(flat.map(([pool, branches]) => [pool, branches.map(([name]) => name)]));
const keysOf = (flat: Flat): readonly string[] =>
  flat.flatMap(([pool, branches]) => branches.flatMap(([name, keys]) => keys.map((key) => `${pool} ${name} ${key}`)));
/** Whether a state is one between two steps: of loads that came together some may be there. */
const isPrefix = (found: Flat, states: readonly LakeState[]): boolean =>
  [{}, ...states].some((state, i, all) => {
    const before = JSON.parse(canonical(state)) as Flat;
    const after = JSON.parse(canonical(all[Math.min(i + 1, all.length - 1)]!)) as Flat;
    const own = new Set(keysOf(found));
    const later = new Set(keysOf(after));
    const isBetween =
      branchesOf(found) === branchesOf(after) &&
      branchesOf(before) === branchesOf(after) &&
      keysOf(before).every((key) => own.has(key)) &&
      [...own].every((key) => later.has(key));
    return JSON.stringify(found) === JSON.stringify(before) || isBetween;
  });

/** `foreign`: a base that is none of the lake's. */
interface Damaged {
  readonly isAlone: boolean;
  readonly foreign: string | undefined;
  readonly count: (name: string) => void;
}
const faultOfLog = async (
  lake: string,
  states: readonly LakeState[],
  { isAlone, foreign, count }: Damaged,
): Promise<string | undefined> => {
  const wanted = canonical(states.at(-1)!);
  const isKnown = (state: string): boolean => isPrefix(JSON.parse(state) as Flat, states);
  const before = await checkBuiltLake(lake);
  count(before.faultCount === 0 ? 'harmless' : 'named by fsck');
  if (foreign !== undefined && !before.faults.includes(`${foreign}: it is of another lake`))
    return `fsck did not name ${foreign}: ${before.faults.join('; ')}`;
  const copy = `${lake}.started`;
  rmSync(copy, { recursive: true, force: true });
  cpSync(lake, copy, { recursive: true });
  const { status, complaint, state } = await readState(copy);
  rmSync(copy, { recursive: true, force: true });
  if (typeof status === 'string') return `a start died of ${status}`;
  // Of the last records nobody knows that they were there, but the tables.
  if (state !== undefined && state !== wanted && !(isAlone && isKnown(state)))
    return `a start gave wrong rows: ${state} in place of ${wanted}`;
  if (state === undefined && !/its log is damaged: |neither a log nor tables/.test(complaint))
    return `a start was refused without a reason: ${complaint}`;
  if (state === undefined && before.faultCount === 0) return `fsck found nothing, a start was refused: ${complaint}`;
  if (before.faultCount === 0) return undefined;
  // Nothing is left to rebuild from but data objects.
  if (before.faults.includes('there are data objects, and neither a log nor tables')) return undefined;
  const { after, lost } = await repairBuiltLake(lake);
  if (!after || after.faultCount > 0) return `after the repair: ${after?.faults.join('; ') ?? 'nothing was done'}`;
  count(lost.length > 0 ? 'repaired with losses' : 'repaired');
  const opened = await openBuiltLake(lake, (problem) => {
    throw problem;
  });
  try {
    const found = await stateOf(opened);
    if (lost.length === 0 && canonical(found) !== wanted && !(isAlone && isKnown(canonical(found))))
      return `repaired to ${canonical(found)}, not ${wanted}, and nothing is said to be lost`;
    const keys = new Set(
      states.flatMap((each) => Object.values(each).flatMap((branches) => Object.values(branches).flat())),
    );
    const strange = Object.values(found)
      .flatMap((branches) => Object.values(branches).flat())
      .filter((each) => !keys.has(each));
    return strange.length === 0 ? undefined : `rows that nobody committed: ${strange.join(', ')}`;
  } finally {
    await opened.close();
  }
};
