/** Pages that are read on, some rows at a time: whatever is held of them, the rows are the same. */
import { describe, expect, test } from 'vitest';
import { BytesFault } from '../../../../src/formats/columns/type-bytes.ts';
import { HybridReader, decodeDeltaRuns, decodeHybrid } from '../../../../src/formats/parquet/decode.ts';
import { ReadMemory } from '../../../../src/formats/read-memory.ts';
import type { ScratchBytes } from '../../../../src/formats/spool.ts';
import { openReader } from '../../../../src/formats/formats.ts';
import { parseSupValues } from '../../../../src/vectors/sup/parse.ts';
import { supText } from '../../../../src/vectors/sup/print.ts';
import { nulls, valueAt } from '../../../../src/vectors/vector.ts';
import { RowWindows } from '../../../../src/formats/row-windows.ts';
import { pieces, written } from '../../../support/formats/convert.ts';
import { type Random, randomOf, seedOf } from '../../../support/random.ts';

const rows = 5000;
const recordText = (r: Random, i: number): string => {
  const orNull = (text: string, type: string, part: number): string =>
    `${r.below(100) < part * 100 ? 'null' : text}::(${type}|null)`;
  const fields = [
    `id:${i}`,
    `few:${orNull(String(r.below(5)), 'int64', 0)}`,
    `gaps:${orNull(String(r.below(1e6)), 'int64', i < rows / 2 ? 0 : 0.5)}`,
    `one:7::int32`,
    `wide:${r.below(1e6)}${r.below(1e6)}${i}`,
    `float:${(r.below(1000) / 8).toFixed(3)}`,
    `text:${orNull(`"${'t'.repeat(r.below(40))}${r.below(1e6)}"`, 'string', 0.1)}`,
    `word:"${['red', 'green', 'blue'][r.below(3)]}"`,
    `flag:${orNull(String(r.below(2) === 1), 'bool', 0.01)}`,
    `list:[${Array.from({ length: r.below(4) }, () => r.below(9)).join()}]::[int64]`,
    `pair:${orNull(`{a:${r.below(9)},b:"${r.below(9)}"}`, '{a:int64,b:string}', 0.3)}`,
  ];
  return `{${fields.join()}}`;
};

const rowsOf = async (
  bytes: Uint8Array,
  batchRows: number,
  memory = new ReadMemory(),
  scratch?: () => ScratchBytes,
): Promise<readonly string[]> => {
  const out: string[] = [];
  const options = { batchRows, memory, ...(scratch && { scratch }) };
  for await (const batch of await openReader('parquet', pieces(bytes, 1 << 16), options))
    for (let i = 0; i < batch.length; i++) out.push(supText(valueAt(batch, i)));
  expect(memory.bytes).toBe(0);
  return out;
};

test('pages that are let go and read again give the same rows as pages that are held', async () => {
  const r = randomOf(seedOf(2411));
  const values = parseSupValues(Array.from({ length: rows }, (_, i) => recordText(r, i)).join('\n'));
  const bytes = written(values, 'parquet');
  const wanted = values.map((v) => supText(v));
  for (const batchRows of [rows, 1000, 97]) expect(await rowsOf(bytes, batchRows)).toEqual(wanted);
  // With so little, hardly any column can hold its page beside the file.
  const tight = bytes.length + (1 << 20);
  expect(
    await rowsOf(
      bytes,
      512,
      new ReadMemory(
        () => tight,
        () => 256 << 10,
      ),
    ),
  ).toEqual(wanted);
});

/** A scratch file that counts what it is asked. */
class CountedScratch implements ScratchBytes {
  bytes = Buffer.alloc(0);
  puts = 0;
  gets = 0;
  isClosed = false;
  append(bytes: Uint8Array): void {
    this.puts++;
    this.bytes = Buffer.concat([this.bytes, bytes]);
  }
  read(at: number, length: number): Uint8Array {
    this.gets++;
    expect(at + length).toBeLessThanOrEqual(this.bytes.length);
    return new Uint8Array(this.bytes.subarray(at, at + length));
  }
  close(): void {
    this.isClosed = true;
  }
}
test('pages that memory has no room for are put away once, and read on from there', async () => {
  const r = randomOf(seedOf(2413));
  const values = parseSupValues(Array.from({ length: rows }, (_, i) => recordText(r, i)).join('\n'));
  const bytes = written(values, 'parquet');
  const wanted = values.map((v) => supText(v));
  for (const batchRows of [rows, 512, 97]) {
    const files: CountedScratch[] = [];
    const memory = new ReadMemory(
      () => bytes.length + (1 << 20),
      () => 128 << 10,
    );
    const scratch = (): CountedScratch => {
      files.push(new CountedScratch());
      return files.at(-1)!;
    };
    expect(await rowsOf(bytes, batchRows, memory, scratch)).toEqual(wanted);
    expect(files.every((f) => f.isClosed)).toBe(true);
    const [parked] = files;
    // Put away again for each window, they would be so many for each column.
    if (batchRows === 97) expect(parked!.puts).toBeLessThan(rows / batchRows);
    expect(parked!.gets).toBeGreaterThan(parked!.puts);
  }
});

describe('runs and packed groups', () => {
  /** Runs of one number, and packed groups, as writers mix them. */
  const encoded = (r: Random, width: number): { readonly bytes: Uint8Array; readonly numbers: number[] } => {
    const bytes: number[] = [];
    const numbers: number[] = [];
    const header = (n: number): void => {
      for (let left = n; ; left = Math.floor(left / 128)) {
        bytes.push(left >= 128 ? (left % 128) + 128 : left);
        if (left < 128) return;
      }
    };
    const below = 2 ** width;
    for (let k = 0; k < 20; k++) {
      if (r.below(2) === 0) {
        const [run, value] = [1 + r.below(300), r.below(below)];
        header(run * 2);
        for (let b = 0; b < Math.ceil(width / 8); b++) bytes.push(Math.floor(value / 2 ** (b * 8)) % 256);
        for (let i = 0; i < run; i++) numbers.push(value);
        continue;
      }
      const groups = 1 + r.below(20);
      header(groups * 2 + 1);
      let bits = '';
      for (let i = 0; i < groups * 8; i++) {
        const value = r.below(below);
        numbers.push(value);
        bits =
          value
            .toString(2)
            .padStart(width, '0')
            .slice(-width || 2 ** 30) + bits;
      }
      for (let at = bits.length; width > 0 && at > 0; at -= 8) bytes.push(parseInt(bits.slice(at - 8, at), 2));
    }
    return { bytes: Uint8Array.from(bytes), numbers };
  };

  test('give the same numbers in pieces of any length', () => {
    const r = randomOf(seedOf(2412));
    for (let width = 1; width <= 31; width++) {
      const { bytes, numbers } = encoded(r, width);
      const whole = new Uint32Array(numbers.length);
      decodeHybrid({ bytes, at: 0, end: bytes.length }, width, whole);
      expect([...whole]).toEqual(numbers);
      const reader = new HybridReader({ bytes, at: 0, end: bytes.length }, width);
      const taken: number[] = [];
      while (taken.length < numbers.length) {
        const count = Math.min(numbers.length - taken.length, 1 + r.below(100));
        const value = numbers[taken.length]!;
        if (reader.passed(count, value)) taken.push(...new Array<number>(count).fill(value));
        else {
          const part = new Uint32Array(count);
          reader.next(part);
          taken.push(...part);
        }
      }
      expect(taken).toEqual(numbers);
    }
  });
  test('that are cut short are a fault, in the piece that lacks them', () => {
    const bytes = Uint8Array.of(3, 0b10101010, 5, 1);
    const reader = new HybridReader({ bytes, at: 0, end: bytes.length }, 1);
    const first = new Uint8Array(11);
    reader.next(first);
    expect([...first]).toEqual([0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0]);
    expect(() => {
      reader.next(new Uint8Array(6));
    }).toThrow(BytesFault);
  });
});

test('texts by their prefixes: a page of nulls alone, as pyarrow writes it', () => {
  const bytes = Buffer.from('80010400008001040000', 'hex');
  expect(decodeDeltaRuns({ bytes, at: 0, end: bytes.length }, 0)).toEqual({
    offsets: Uint32Array.of(0),
    bytes: new Uint8Array(0),
  });
});

test('dictionaries that memory has no room for are put away once, and pages beside them are read on', async () => {
  const r = randomOf(seedOf(2414));
  const words = Array.from({ length: 600 }, (_, i) => `${i} ${r.hex(60)}`);
  const fields = (): string =>
    Array.from({ length: 16 }, (_, k) => `t${k}:"${r.pick(words)}",n${k}:${r.below(300)}.5`).join();
  const values = parseSupValues(Array.from({ length: 3000 }, () => `{${fields()}}`).join('\n'));
  const bytes = written(values, 'parquet');
  const files: CountedScratch[] = [];
  const memory = new ReadMemory(
    () => bytes.length + (1 << 20),
    () => 256 << 10,
  );
  const scratch = (): CountedScratch => {
    files.push(new CountedScratch());
    return files.at(-1)!;
  };
  expect(await rowsOf(bytes, 97, memory, scratch)).toEqual(values.map((v) => supText(v)));
  const [parked] = files;
  // A page of each of 32 columns, and the two parts of a dictionary of texts.
  expect(parked!.puts).toBeGreaterThan(48);
  expect(parked!.puts).toBeLessThan(32 * 4);
});

test('windows of so many rows as had no room are not tried again', () => {
  let refused = 0;
  const memory = new ReadMemory(
    () => 1 << 30,
    () => 1 << 20,
  );
  const windows = new RowWindows({ memory, batchRows: 4096, format: 'parquet' });
  for (let left = 50_000; left > 0; ) {
    const window = windows.next(left, {
      read: (count) => {
        // The first part leaves room for twice as many, the second does not.
        windows.hold(count * 100, count);
        if (count > 1000) windows.hold(1 << 26, count);
        return nulls(count);
      },
      again: () => {
        refused++;
      },
      isShort: true,
    });
    left -= window.length;
  }
  expect(refused).toBeLessThan(5);
});
