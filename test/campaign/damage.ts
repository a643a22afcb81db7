/**
 * Parts `objects` and `tables`: bytes are flipped, zeroed, cut off, doubled, swapped. Of data objects the reader gives the right rows or an error that names
 * the object; of a lake whose tables or copy were damaged, the start gives the right rows or says what is wrong, `lake fsck` finds whatever is not as it was,
 * and `lake fsck -repair` brings the lake back or names what is lost.
 */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LakeError } from '../../src/errors.ts';
import { openObject, sourceOfBytes } from '../../src/lake/object-reader.ts';
import { ObjectWriter } from '../../src/lake/object-writer.ts';
import { vectorOf } from '../../src/vectors/builder.ts';
import { supText } from '../../src/vectors/sup-print.ts';
import { intValue, recordValue, stringValue, type Value } from '../../src/vectors/value.ts';
import { valueAt } from '../../src/vectors/vector.ts';
import { type Random, randomOf } from '../support/random.ts';
import { checkBuiltLake, openBuiltLake, repairBuiltLake, stateOf } from './built-lake.ts';
import type { PartRun } from './part.ts';
import { canonical, type LakeState, referenceOf, runVictim } from './run-victim.ts';
import { scriptCount, scriptOf } from './scripts.ts';

/** Damages bytes in one of the ways; undefined when that changes nothing. */
export const damaged = (sound: Buffer, random: Random): { readonly bytes: Buffer; readonly how: string } | undefined => {
  const bytes = Buffer.from(sound), at = random.below(bytes.length), length = 1 + random.below(Math.min(bytes.length - at, random.below(8) === 0 ? 8192 : 64)), way = random.below(7);
  const to = random.below(bytes.length - length + 1);
  const edits: readonly (readonly [string, () => Buffer])[] = [
    ['flipped', () => { bytes[at]! ^= 1 << random.below(8); return bytes; }],
    ['changed', () => { bytes[at] = random.below(256); return bytes; }],
    ['zeroed', () => bytes.fill(0, at, at + length)],
    ['set', () => bytes.fill(0xff, at, at + length)],
    ['cut', () => bytes.subarray(0, at)],
    ['moved', () => { sound.copy(bytes, to, at, at + length); return bytes; }],
    ['swapped', () => { sound.copy(bytes, to, at, at + length); sound.copy(bytes, at, to, to + length); return bytes; }],
  ];
  const [how, edit] = edits[way]!, result = edit();
  return result.equals(sound) ? undefined : { bytes: result, how: `${how} at ${at}, ${length} bytes${way > 4 ? ` to ${to}` : ''} of ${sound.length}` };
};

/** Damaged copies of an object, by seed. */
const copiesPerSeed = 1000;
const id = 'd'.repeat(40);

export const objects: PartRun = async ({ seeds, count, failed }) => {
  for (const seed of seeds) {
    const random = randomOf(seed + 1), sound = someObject(random), wanted = await rowsOf(sound);
    for (let n = 0; n < copiesPerSeed; n++) {
      const copy = damaged(sound, random);
      if (!copy) continue;
      count('objects');
      try {
        if ((await rowsOf(copy.bytes)).join('\n') !== wanted.join('\n')) failed(seed, `wrong rows: ${copy.how}`);
        else count('harmless');
      } catch (error) {
        if (!(error instanceof LakeError) || !/^object-/.test(error.code) || !error.message.includes(id)) failed(seed, `${copy.how}: ${error instanceof Error ? error.stack : String(error)}`);
        else count('named');
      }
    }
  }
};

/** Records of two shapes in one or more blocks, with columns of several encodings; small ones without zone maps. */
const someObject = (random: Random): Buffer => {
  const chunks: Uint8Array[] = [], blocks = 1 + random.below(3), rows = 1 + random.below(random.below(3) === 0 ? 400 : 40);
  const writer = new ObjectWriter((chunk) => { chunks.push(chunk.slice()); }, { rowsExpected: random.below(2) === 0 ? 10_000 : 10 });
  const record = (i: number): Value => recordValue([
    { name: 'id', value: intValue(i * 7919) }, { name: 'city', value: stringValue(random.pick(['Oslo', 'Rome', 'Wien'])) }, { name: 'note', value: stringValue(random.hex(random.below(24))) },
    ...(random.below(3) === 0 ? [{ name: 'deep', value: recordValue([{ name: 'x', value: intValue(random.below(5)) }]) }] : []),
  ]);
  for (let block = 0; block < blocks; block++) writer.block(vectorOf(Array.from({ length: rows }, (_, i) => record(block * rows + i))), { first: Buffer.of(1, block), last: Buffer.of(2, block) });
  writer.finish();
  return Buffer.concat(chunks);
};
const rowsOf = async (bytes: Uint8Array): Promise<readonly string[]> => {
  const reader = await openObject(sourceOfBytes(id, bytes)), rows: string[] = [];
  for (let block = 0; block < reader.blocks.length; block++) {
    const batch = await reader.read(block);
    for (let i = 0; i < batch.length; i++) rows.push(supText(valueAt(batch, i)));
  }
  return rows;
};

export const tables: PartRun = async ({ folder, seeds, count, failed }) => {
  const lakes = new Map<number, LakeState>();
  for (const seed of seeds) {
    const number = seed % scriptCount, random = randomOf(seed + 31), sound = join(folder, `sound-${number}`), lake = join(folder, 'lake');
    let wanted = lakes.get(number);
    if (!wanted) {
      wanted = (await referenceOf(sound, scriptOf(number))).states.at(-1)!;
      lakes.set(number, wanted);
    }
    rmSync(lake, { recursive: true, force: true });
    cpSync(sound, lake, { recursive: true });
    const log = readdirSync(join(lake, 'log'))[0]!, part = random.below(3) === 0 ? join('log', log) : join('tables', 'data.mdb'), path = join(lake, part), how: string[] = [];
    for (let n = 1 + random.below(3); n > 0; n--) {
      const change = damaged(readFileSync(path), random);
      if (!change) continue;
      how.push(change.how);
      writeFileSync(path, change.bytes);
    }
    count('lakes');
    const fault = await faultOfDamage(lake, wanted, count);
    if (fault !== undefined) failed(seed, `${part} of script ${number}, ${how.join(', ')}: ${fault}`);
  }
};

const faultOfDamage = async (lake: string, wanted: LakeState, count: (name: string) => void): Promise<string | undefined> => {
  const before = await checkBuiltLake(lake), text = canonical(wanted);
  count(before.faultCount === 0 ? 'harmless' : 'named by fsck');
  // The next start after a stop that was not clean.
  const copy = `${lake}.started`;
  rmSync(copy, { recursive: true, force: true });
  cpSync(lake, copy, { recursive: true });
  writeFileSync(join(copy, 'running'), 'process 1\n');
  const told = await runVictim(copy, [], { mode: 'read' }), state = told.lines.map((line) => /^state end (.*) \{"state".*$/.exec(line)?.[1]).find((found) => found !== undefined);
  rmSync(copy, { recursive: true, force: true });
  if (typeof told.status === 'string') return `a start died of ${told.status}`;
  if (state !== undefined && canonical(JSON.parse(state) as LakeState) !== text) return `a start gave wrong rows: ${state} in place of ${text}`;
  if (state === undefined && !/its tables cannot be read|table \w+, key/.test(told.complaint)) return `a start was refused without a reason: ${told.complaint}`;
  if (state === undefined && before.faultCount === 0) return `fsck found nothing, a start was refused: ${told.complaint}`;
  if (before.faultCount > 0) {
    const { after, lost } = await repairBuiltLake(lake);
    if (!after || after.faultCount > 0) return `after the repair: ${after?.faults.join('; ') ?? 'nothing was done'}`;
    count(lost.some((line) => !line.startsWith('what was committed after event')) ? 'repaired with losses' : 'repaired');
  }
  const opened = await openBuiltLake(lake, (problem) => { throw problem; });
  try {
    const found = canonical(await stateOf(opened));
    return found === text ? undefined : `${before.faultCount > 0 ? 'repaired to' : 'fsck found nothing in'} ${found}, not ${text}`;
  } finally {
    await opened.close();
  }
};
