/** Searches that pass over columns of texts by the pairs of bytes in them: they find what a look at all rows finds. */
import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import type { ScanRequest } from '../../../src/exec/source.ts';
import type { Column, Segment } from '../../../src/lake/columns/column.ts';
import { visitStrings } from '../../../src/lake/columns/wanted.ts';
import { mayContain, pairsOf, searchedTexts } from '../../../src/lake/columns/pairs.ts';
import { BlockScanner } from '../../../src/lake/scan/block.ts';
import { type ObjectReader, openObject, sourceOfBytes } from '../../../src/lake/objects/reader.ts';
import { ObjectWriter } from '../../../src/lake/objects/writer.ts';
import type { PlanExpr, PlanOp } from '../../../src/query/plan/plan.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { types } from '../../../src/vectors/type.ts';
import { type Value, boolValue, intValue, nullValue, recordValue, stringValue } from '../../../src/vectors/value.ts';
import { type Vector, slice, valueAt } from '../../../src/vectors/vector.ts';
import { inputSource, runPlan, supOf } from '../../support/queries/run-plan.ts';

const utf8 = new TextEncoder();
const bytesIn = (text: string, before = 0): Uint8Array => utf8.encode('#'.repeat(before) + text).subarray(before);
const knows = (column: string, text: string): boolean => mayContain(pairsOf(bytesIn(column)), searchedTexts([text])!);

describe('pairs of bytes', () => {
  test('tell of every text that is there, in any case and wherever its bytes begin', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'aBz09 -.~\n|é€') }),
        fc.nat(7),
        fc.nat(),
        fc.nat(),
        (column, before, start, length) => {
          const text = column.slice(start % (column.length + 1)).slice(0, 2 + (length % 6));
          const texts = searchedTexts([text.toUpperCase()]);
          const pairs = pairsOf(bytesIn(column, before));
          expect(!texts || mayContain(pairs, texts)).toBe(true);
          expect(pairs).toEqual(pairsOf(bytesIn(column)));
        },
      ),
      { numRuns: 500 },
    );
  });
  test('tell of texts with another pair that they are not there', () => {
    expect([
      knows('C660wfse8C1a2b', 'rule 17'),
      knows('triggered by rule 17', 'rule 17'),
      knows('by RULE 1, 7 or 17', 'Rule 17'),
      knows('rule 7', 'rule 17'),
      knows('/api/v1/items/77', 'item'),
    ]).toEqual([false, true, true, false, true]);
    expect([knows('', 'ab'), knows('a', 'aa'), knows('ab', 'ba'), knows('ab', 'ab'), knows('a^b', 'a~b')]).toEqual([
      false,
      false,
      false,
      true,
      true,
    ]);
  });
  test('tell nothing of texts without a pair, nor of letters that have other small forms', () => {
    expect(['', 'x', 'naïve', 'İstanbul', '17 €'].map((text) => searchedTexts([text, 'rule']))).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
  test('stay what they were', () => {
    // Stored pairs are read for ever: other classes need another encoding.
    const pairs = pairsOf(bytesIn('alert 7 triggered by rule 17|"GET /api/v1/x?a=b&c=d" {é}'));
    expect([pairs.length, [...pairs].reduce((hash, word) => (Math.imul(hash, 31) + word) >>> 0, 7)]).toEqual([
      128, 177219361,
    ]);
  });
});

const noKeys = { first: new Uint8Array(0), last: new Uint8Array(0) };
const readerOf = (bytes: Uint8Array): ObjectReader => openObject(sourceOfBytes('0'.repeat(40), bytes)) as ObjectReader;
interface Opened {
  readonly reader: ObjectReader;
  readonly version: number;
  readonly bytes: Buffer;
}
const open = (rows: readonly Value[], blockRows: number): Opened => {
  const chunks: Uint8Array[] = [];
  const writer = new ObjectWriter((chunk) => chunks.push(chunk.slice()), { rowsExpected: 1 << 20 });
  for (let at = 0; at < rows.length; at += blockRows) writer.block(vectorOf(rows.slice(at, at + blockRows)), noKeys);
  writer.finish();
  const bytes = Buffer.concat(chunks);
  return { reader: readerOf(bytes), version: bytes[bytes.length - 16 - bytes.readUInt32LE(bytes.length - 16)]!, bytes };
};
const field = (name: string, value: Value): { readonly name: string; readonly value: Value } => ({ name, value });
const uid = (i: number): string => `C${((i * 7919) % 1_000_003).toString(36).padStart(13, 'k')}`;
/** Ids, words of a dictionary, times, messages, numbers; some nested, some null or of another type. */
const recordOf = (i: number): Value => {
  const id = field('uid', stringValue(uid(i)));
  const message = stringValue(`${uid(i)} tripped Rule ${i % 50}, höher`);
  if (i % 3 === 0)
    return recordValue([
      id,
      field('ts', stringValue(new Date(1.7e12 + i * 977).toISOString())),
      field('kind', stringValue(['http', 'Conn', 'alert rule 7'][(i % 11) % 3]!)),
      field('n', intValue(i)),
    ]);
  if (i % 3 === 1)
    return recordValue([
      id,
      field('inner', recordValue([field('msg', message), field('ok', boolValue(i % 2 === 0))])),
      field('mixed', i % 4 === 1 ? nullValue : i % 8 === 3 ? intValue(i) : message),
    ]);
  return i % 1000 === 2
    ? message
    : recordValue([id, field('rules', { type: types.ip, data: Uint8Array.of(10, 0, i & 255, 1) })]);
};
const rows = Array.from({ length: 12_000 }, (_, i) => recordOf(i));

describe('a search', () => {
  const whole = open(rows, 6000);
  const { reader, version } = whole;
  const grep = (text: string): PlanExpr => ({
    kind: 'call',
    name: 'grep',
    arguments: [{ kind: 'literal', value: stringValue(text) }, { kind: 'this' }],
  });
  const searched = (text: string): PlanExpr => ({ kind: 'searchText', operand: { kind: 'this' }, text });
  /** What a query with that filter gives, and how many columns were nulls in its stead. */
  const found = async (
    filter: PlanExpr,
    fromObject: boolean,
  ): Promise<{ readonly rows: string; readonly nulls: number }> => {
    let nulls = 0;
    const stored = async function* stored(request: ScanRequest): AsyncGenerator<Vector> {
      const keep = request.filter!.keep;
      const scanner = new BlockScanner({
        ...request,
        filter: {
          ...request.filter!,
          keep: (batch, inOrder) => {
            if (batch.form === 'record') nulls += batch.fields.filter((f) => f.values.form === 'null').length;
            return keep(batch, inOrder);
          },
        },
      });
      for (let block = 0; block < reader.blocks.length; block++) {
        const kept = await scanner.inOrder(reader, block);
        if (kept) yield kept;
      }
    };
    const plain = async function* plain(): AsyncGenerator<Vector> {
      for (let at = 0; at < rows.length; at += 4096)
        yield slice(vectorOf(rows.slice(at, at + 4096)), 0, Math.min(4096, rows.length - at));
    };
    const scan: PlanOp = { kind: 'scan', sources: [inputSource('input')], ordered: true, filter };
    const batches = await runPlan(
      { pipeline: { ops: [scan] }, functions: [] },
      {},
      { host: { filters: () => fromObject, scan: (_, request) => (fromObject ? stored(request) : plain()) } },
    );
    return { rows: supOf(batches.map((b) => b.batch)), nulls };
  };
  test('is of an object of version 3', () => {
    expect([version, open(rows.slice(0, 1200), 1200).version, open(rows.slice(0, 10), 10).version]).toEqual([3, 2, 1]);
  });
  test.each([
    'rule 7',
    'RULE 17',
    'rule',
    'alert r',
    'conn',
    uid(6).toUpperCase(),
    uid(7).slice(9),
    '2023-11-1',
    '14:1',
    'höher',
    'HÖ',
    'nowhere',
    'x',
    '',
    'inner',
  ])('for %j finds the rows that hold it', async (text) => {
    const wanted = (await found(grep(text), false)).rows;
    expect((await found(grep(text), true)).rows).toBe(wanted);
    expect((await found(searched(text), true)).rows).toBe(wanted);
  });
  test('for several texts, or for none of them, passes over no column that one of them may be in', async () => {
    const either: PlanExpr = { kind: 'or', left: searched('rule 17'), right: grep('alert') };
    const both: PlanExpr = { kind: 'and', left: searched('rule 1'), right: { kind: 'not', operand: searched(uid(7)) } };
    for (const filter of [either, both, { kind: 'not', operand: either } as const])
      expect((await found(filter, true)).rows).toBe((await found(filter, false)).rows);
  });
  test('passes over columns that cannot hold the text, of a pattern over none', async () => {
    const of = async (filter: PlanExpr): Promise<number> => (await found(filter, true)).nulls;
    const none = await of(grep('[a-z]*rule 17'));
    // Of each of two blocks the ids of three shapes, words, and times or else messages.
    expect([
      (await of(grep('rule 17'))) - none,
      (await of(grep('by rule'))) - none,
      (await of(grep('2023-11'))) - none,
    ]).toEqual([10, 10, 10]);
  });
  test('notices pairs that were damaged', () => {
    const bytes = Buffer.from(whole.bytes);
    const sound = readerOf(bytes);
    const part = sound.parts(0).find((p) => p.form === 'record' && p.fields.some((f) => f.name === 'inner'))!;
    const texts = searchedTexts(['rule 17'])!;
    let pairs: Segment | undefined;
    visitStrings(part, (strings) => {
      pairs ??= strings.pairs;
    });
    bytes[(sound.blocks[0] as unknown as { readonly offset: number }).offset + pairs!.offset + 77]! ^= 4;
    expect(() => readerOf(bytes).searched(0, part, texts)).toThrow(
      /block 0: checksum of 512 bytes at \d+ does not fit/,
    );
    expect((readerOf(whole.bytes).searched(0, part, texts) as Column).form).toBe('record');
  });
  test('of rows that are no records finds them too', async () => {
    const wanted = rows.filter((v) => v.type === types.string).map((v) => `${supText(v)}\n`);
    const text = (await found(searched('tripped'), true)).rows;
    expect(wanted.every((t) => text.includes(t))).toBe(true);
    expect(supText(valueAt(reader.read(0) as Vector, 2))).toContain('tripped');
  });
});
