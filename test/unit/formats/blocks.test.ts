import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { type BlockHelper, type BlockParser, blockBytesMax } from '../../../src/formats/blocks.ts';
import type { BlockSetup, FormatLimits } from '../../../src/formats/format.types.ts';
import { type FormatName, blockParser, createWriter, openReader } from '../../../src/formats/formats.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { valueAt } from '../../../src/vectors/vector.ts';
import { randomOf, seedOf } from '../../support/random.ts';

/** A helper that answers later, in order, with copies, as another thread does. */
const helperOf = (
  parser: BlockParser,
  { delayMs = 0, diesAfter = Infinity }: { readonly delayMs?: number; readonly diesAfter?: number } = {},
): BlockHelper & { taken: number } => {
  let last = Promise.resolve();
  let away = 0;
  return {
    taken: 0,
    get free() {
      return 2 - away;
    },
    parse(bytes, length) {
      away++;
      if (this.taken++ >= diesAfter) return Promise.reject(new Error('the helper died'));
      const answer = last.then(async () => {
        await new Promise((resolve) => {
          setTimeout(resolve, delayMs);
        });
        away--;
        return structuredClone({ bytes, parsed: parser(bytes, length) });
      });
      last = answer.then(() => undefined);
      return answer;
    },
    close: () => undefined,
  };
};

const pieces = async function* (bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
};

interface Outcome {
  readonly rows: number;
  readonly hash: string;
  readonly last: string;
  readonly error: string;
}
/** What reading gives: the number of rows, a hash of them all, the last one and the error. */
const outcome = async (
  bytes: Uint8Array,
  helper?: BlockHelper,
  format: FormatName = 'json',
  setups: BlockSetup[] = [],
  limits: FormatLimits = {},
): Promise<Outcome> => {
  let rows = 0;
  let last = '';
  const hash = createHash('sha256');
  const writer = createWriter('sup');
  const ended = (error: string): Outcome => ({ rows, hash: hash.digest('hex'), last, error });
  try {
    for await (const batch of await openReader(format, pieces(bytes, 200_000), {
      ...limits,
      ...(helper && { helper: (setup: BlockSetup) => Promise.resolve((setups.push(setup), helper)) }),
    })) {
      rows += batch.length;
      for (const chunk of writer.write(batch)) hash.update(chunk);
      last = supText(valueAt(batch, batch.length - 1));
    }
    return ended('');
  } catch (problem) {
    return ended(problem instanceof Error ? problem.message : String(problem));
  }
};

const parser = blockParser({ format: 'json' }, {});
const random = randomOf(seedOf(77));
/** Lines of several shapes, whose fields change type now and then. */
const line = (i: number): string => {
  const x = random.below(5);
  if (x === 0) return `{"id":${i},"a":null,"path":"/items/${i % 977}"}${' '.repeat(1500)}`;
  if (x === 1) return `{"id":${i},"a":${i % 13},"list":[1,2,${i}],"inner":{"x":"é${i % 7}"}}`;
  if (x === 2) return `{"id":${i},"a":"text ${i % 101}","big":${9007199254740993n + BigInt(i)}}`;
  if (x === 3 && i % 499 === 0) return `\n  ${i}\n`;
  return `{"id":${i},"a":${i / 8},"flag":${i % 2 === 0},"odd":[1,"x",null]}`;
};
let text = '';
beforeAll(() => {
  const lines: string[] = [];
  for (let i = 0; i < 20_000; i++) lines.push(line(i));
  text = `${lines.join('\n')}\n`;
}, 30_000);

describe('blocks of a long JSON input', () => {
  test('give the rows that reading in sequence gives, some of them from the helper', async () => {
    const bytes = Buffer.from(text);
    const helper = helperOf(parser);
    const found = await outcome(bytes, helper);
    expect(found).toEqual(await outcome(bytes));
    expect([found.error, found.rows === 20_000, helper.taken > 0]).toEqual(['', true, true]);
  });
  test('a helper that is slow, or takes nothing, changes no row', async () => {
    const bytes = Buffer.from(text);
    const alone = await outcome(bytes);
    expect(await outcome(bytes, helperOf(parser, { delayMs: 20 }))).toEqual(alone);
    expect(
      await outcome(bytes, { free: 0, parse: () => Promise.reject(new Error('not asked')), close: () => undefined }),
    ).toEqual(alone);
  });
  test('a helper that dies fails the input with what it died of', async () => {
    expect(await outcome(Buffer.from(text), helperOf(parser, { diesAfter: 1 }))).toMatchObject({
      error: 'the helper died',
    });
  });
  test('the end of the input needs no line break', async () => {
    const bytes = Buffer.from(`${text}{"last":1}`);
    expect(await outcome(bytes, helperOf(parser))).toEqual(await outcome(bytes));
  });
  for (const [what, fault] of [
    ['a broken line', '{"a":1}\n{"a":oops}\n'],
    ['a value that is cut off', '{"a":[1,\n'],
    ['a text that is not closed', '"abc'],
  ] as const) {
    test(`${what} has the place in the whole input, and the rows before it come`, async () => {
      for (const at of [0.7, 1]) {
        const split = text.indexOf('\n', Math.floor(text.length * at) - 1) + 1;
        const bytes = Buffer.from(text.slice(0, split) + fault + (at < 1 ? text.slice(split) : ''));
        const alone = await outcome(bytes);
        expect(alone.error).toMatch(/^json: .* \(line \d+, column \d+, byte \d+\)/);
        expect(await outcome(bytes, helperOf(parser))).toEqual(alone);
      }
    });
  }
  test('values over several lines, cut in their middle by every block, are read in sequence', async () => {
    const values: string[] = [];
    for (let i = 0; i < 20_000; i++)
      values.push(JSON.stringify({ id: i, list: [i, String(i)], inner: { x: i % 7 } }, undefined, 2));
    const bytes = Buffer.from(values.join(`\n${' '.repeat(200)}`));
    const alone = await outcome(bytes);
    expect(alone.rows).toBe(20_000);
    expect(await outcome(bytes, helperOf(parser))).toEqual(alone);
  });
  test('lines that turn into one array, or into one line of very many values', async () => {
    const numbers = Array.from({ length: 300_000 }, (_, i) => i % 1000);
    for (const rest of [`[${numbers.join(',\n')}]\n`, `${numbers.join(' ')}${' '.repeat(5 << 20)}7\n{"a":1}`]) {
      const bytes = Buffer.from(text + rest);
      expect(await outcome(bytes, helperOf(parser))).toEqual(await outcome(bytes));
    }
  }, 30_000);
  test('a value that is longer than the limit is refused, whatever the blocks were to begin with', async () => {
    for (const width of [40, 200, 270]) {
      const lines = `${JSON.stringify('x'.repeat(width - 3))}\n`.repeat(Math.ceil((3 << 20) / width));
      for (const length of [blockBytesMax, 5 << 20]) {
        const bytes = Buffer.from(`${lines}"${'y'.repeat(length)}"\n${lines}`);
        const limits = { valueBytesMax: blockBytesMax };
        expect(await outcome(bytes, helperOf(parser), 'json', [], limits)).toMatchObject({
          error: `json: a single value: more than ${blockBytesMax} bytes (option -value.max)`,
        });
      }
    }
  }, 30_000);
  test('records of ever new keys', async () => {
    const lines: string[] = [];
    for (let i = 0; i < 12_000; i++)
      lines.push(`{"id":${i},"k${i % 3000}":{"k${i % 300}":${i}},"padding":"${'x'.repeat(300)}"}`);
    const bytes = Buffer.from(`${lines.join('\n')}\n`);
    expect(await outcome(bytes, helperOf(parser))).toEqual(await outcome(bytes));
  }, 30_000);
});

describe('blocks of a long CSV or TSV input', () => {
  const row = (i: number, d: string): string => {
    const x = random.below(6);
    if (x === 0) return `${i}${d}"quoted ${i}, with ""two""${d} and\r\na break"${d}${i / 8}${' '.repeat(120)}`;
    if (x === 1) return `${i}${d}${d}true\r`;
    if (x === 2 && i % 97 === 0) return `\n${i}${d}"${'a\n'.repeat(random.below(2000))}"${d}1`;
    if (x === 3) return `${i}${d}stray " and " quotes é${d}"12"`;
    return `${i}${d}plain text ${i % 977} of some length${' '.repeat(100)}${d}${i * 3}`;
  };
  const setupOf = (format: 'csv' | 'tsv'): BlockSetup => ({
    format,
    delimiter: format === 'csv' ? ',' : '\t',
    names: ['id', 'text', 'x'],
    bends: false,
  });
  const texts = new Map<string, string>();
  beforeAll(() => {
    for (const [format, d] of [
      ['csv', ','],
      ['tsv', '\t'],
    ] as const)
      texts.set(format, `\ufeffid${d}text${d}x\n${Array.from({ length: 40_000 }, (_, i) => row(i, d)).join('\n')}\n`);
  }, 30_000);

  test.each(['csv', 'tsv'] as const)(
    '%s: the rows that reading in sequence gives, however they are quoted, some of them from the helper',
    async (format) => {
      const bytes = Buffer.from(texts.get(format)!);
      const helper = helperOf(blockParser(setupOf(format), {}));
      const setups: BlockSetup[] = [];
      const found = await outcome(bytes, helper, format, setups);
      expect(found).toEqual(await outcome(bytes, undefined, format));
      expect([found.error, found.rows, helper.taken > 1, setups]).toEqual(['', 40_000, true, [setupOf(format)]]);
    },
  );
  test('the last row needs no line break', async () => {
    const bytes = Buffer.from(`${texts.get('csv')!}1,"last\n`.slice(0, -1) + '",2');
    expect(await outcome(bytes, helperOf(blockParser(setupOf('csv'), {})), 'csv')).toEqual(
      await outcome(bytes, undefined, 'csv'),
    );
  });
  for (const [what, fault] of [
    ['a row of too few fields', '1,2\n'],
    ['a row of too many', '1,2,3,4\n'],
    ['quotes that are not closed', '1,"2,3\n'],
  ] as const) {
    test(`${what}: the error names its line, and the rows before it come`, async () => {
      const text = texts.get('csv')!;
      for (const at of [0.7, 1]) {
        // Behind a row that has no quotes.
        const split =
          text.indexOf('\n', text.indexOf('plain text', Math.min(text.length - 5000, Math.floor(text.length * at)))) +
          1;
        const bytes = Buffer.from(text.slice(0, split) + fault + text.slice(split));
        const alone = await outcome(bytes, undefined, 'csv');
        expect(alone.error).toMatch(/^csv: record on line \d+: (?:wrong number of fields|quote not closed)/);
        expect(await outcome(bytes, helperOf(blockParser(setupOf('csv'), {})), 'csv')).toEqual(alone);
      }
    });
  }
});
