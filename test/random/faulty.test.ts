/**
 * A body with faulty records among good ones: a reader that leaves faulty ones out gives exactly the good ones, in
 * order, however the body is cut and however many threads read it.
 */
import { describe, expect, test } from 'vitest';
import type { BlockHelper } from '../../src/formats/blocks.ts';
import type { CsvDialect } from '../../src/formats/csv/dialect.ts';
import type { FaultyRecord } from '../../src/formats/faults/faults.ts';
import type { BlockSetup } from '../../src/formats/format.types.ts';
import { type FormatName, blockParser, openReader } from '../../src/formats/formats.ts';
import { supText } from '../../src/vectors/sup/print.ts';
import { valueAt } from '../../src/vectors/vector.ts';
import { type Random, randomOf, seedOf } from '../support/random.ts';

const seed = seedOf(4711);

/** A format's records: good ones by their number, faulty ones. */
interface Kind {
  readonly name: string;
  readonly format: FormatName;
  readonly csv?: CsvDialect;
  readonly head?: string;
  /** In place of every line feed. */
  readonly lineEnd?: '\n' | '\r';
  readonly good: (random: Random, n: number) => string;
  readonly faulty: (random: Random, n: number) => string;
}

const text = (random: Random): string => random.pick(['', 'a b', 'é€', '{', '[1', 'x,y', 'long '.repeat(20), '<>']);
const json = (random: Random, n: number): object => ({
  n,
  s: text(random),
  ...(random.below(3) === 0 && { list: [n, [n, null], { m: text(random) }] }),
  ...(random.below(4) === 0 && { x: n / 8, flag: n % 2 === 0, inner: { a: { b: text(random) } } }),
});
const cut = (random: Random, line: string): string => line.slice(0, 1 + random.below(line.length - 1));
/** As SUP has it: the names of fields without quotes. */
const sup = (random: Random, n: number): string =>
  JSON.stringify(json(random, n)).replace(/"(n|s|list|m|x|flag|inner|a|b)":/g, '$1:') +
  random.pick(['', '', '::=rec', ' // of no use']);
const cell = (random: Random, n: number, d: string, quote = '"'): string =>
  random.pick([
    `${n}`,
    'plain',
    `${quote}a${d}b${quote}`,
    `${quote}two\nlines${quote}`,
    `${quote}${quote}${quote}x${quote}${quote}${quote}`,
    'é',
  ]);
const cells = (random: Random, n: number, d: string, quote?: string): string =>
  `${n}${d}${cell(random, n, d, quote)}${d}${cell(random, n, d, quote)}${quote === undefined ? random.pick(['', '', '\r']) : ''}`;

const plain: readonly Kind[] = [
  {
    name: 'NDJSON',
    format: 'json',
    good: (random, n) => JSON.stringify(json(random, n)),
    faulty: (random, n) =>
      random.pick([
        () => cut(random, JSON.stringify(json(random, n))),
        () => 'oops',
        () => `{"n":${n},"s":x}`,
        () => `{"n":${n},"s":"a\tb"}`,
        () => `{"n":${n} "s":1}`,
        () => `]`,
        () => '\xff',
        () => '['.repeat(1 + random.below(1500)),
      ])(),
  },
  {
    name: 'JSON over several lines',
    format: 'json',
    good: (random, n) => JSON.stringify(json(random, n), null, random.pick([2, '\t'])),
    faulty: (random, n) =>
      random.pick([
        () => JSON.stringify({ ...json(random, n), s: 'BAD' }, null, 2).replace('"BAD"', 'bad'),
        () => JSON.stringify({ o: json(random, n), p: 1 }, null, 1).replace('"n"', 'n'),
        () => 'oops',
      ])(),
  },
  {
    name: 'SUP',
    format: 'sup',
    head: '{n:0,s:"a"}\n',
    good: sup,
    faulty: (random, n) =>
      random.pick([
        () => cut(random, `{n:${n},s:"abc",list:[${n},{m:2}]}`),
        () => `{n:${n},s:a b}`,
        () => `{n:"x"::int64}`,
        () => `{n:${n},s:"a`,
      ])(),
  },
  {
    name: 'CSV',
    format: 'csv',
    head: 'n,s,t\n',
    good: (random, n) => cells(random, n, ','),
    faulty: (random, n) => random.pick([`${n}`, `${n},a,b,c`, `${n},"two\nlines",b,c`, `${n},x"y,z`, `${n},"x,z`]),
  },
  {
    name: 'TSV',
    format: 'tsv',
    head: 'n\ts\tt\n',
    good: (random, n) => cells(random, n, '\t'),
    faulty: (random, n) => random.pick([`${n}`, `${n}\ta\tb\tc`, `${n}\tx"y\tz`]),
  },
  {
    name: 'CSV of another dialect',
    format: 'csv',
    csv: { quote: "'", comment: '#', types: [['n', 'int64']] },
    head: '#c\nn,s,t\n',
    good: (random, n) => `${random.pick(['', '', '# no row\n', '\n'])}${cells(random, n, ',', "'")}`,
    faulty: (random, n) =>
      random.pick([
        `${n}`,
        `${n},a,b,c`,
        `${n},'two\nlines',b,c`,
        `${n},x'y,z`,
        `${n},'x,z`,
        `${n},'x'y,z`,
        `q${n},1,2`,
      ]),
  },
  {
    name: 'JSUP',
    format: 'jsup',
    head: '{"type":{"kind":"record","id":30,"fields":[{"name":"n","type":{"kind":"primitive","name":"int64"}}]},"value":["0"]}\n',
    good: (_, n) => `{"type":{"kind":"ref","id":30},"value":["${n}"]}`,
    faulty: (random, n) =>
      random.pick([
        () => cut(random, `{"type":{"kind":"ref","id":30},"value":["${n}"]}`),
        () => `{"type":{"kind":"ref","id":31},"value":["${n}"]}`,
        () => '{"type":{"kind":"ref","id":30},"value":["x"]}',
      ])(),
  },
  {
    name: 'Zeek',
    format: 'zeek',
    head: '#separator \\x09\n#fields\tn\tv\n#types\tcount\tvector[int]\n',
    good: (random, n) => `${n}\t${random.pick(['1,2,3', '-', '(empty)'])}`,
    faulty: (random, n) => random.pick([`${n}`, `x\t1`, `${n}\t1,x`, `${n}\t1\t2`]),
  },
];

const kinds: readonly Kind[] = [
  ...plain,
  ...plain
    .filter(({ csv }) => csv !== undefined)
    .map((kind): Kind => ({ ...kind, name: `${kind.name}, carriage returns alone`, lineEnd: '\r' })),
];

/** The body, its good records alone, and the faulty ones. */
const bodyOf = (
  { good, faulty, head = '', lineEnd = '\n' }: Kind,
  random: Random,
  records: number,
  faults: number,
): { readonly body: Buffer; readonly clean: Buffer; readonly bad: readonly string[] } => {
  const goods = Array.from({ length: records }, (_, n) => good(random, n));
  const bad = Array.from({ length: faults }, (_, n) => faulty(random, n));
  const places = bad.map(() => random.below(records + 1)).sort((a, b) => a - b);
  const lines: string[] = [];
  let next = 0;
  for (let i = 0; i <= records; i++) {
    for (; next < bad.length && places[next] === i; next++) lines.push(bad[next]!);
    if (i < records) lines.push(goods[i]!);
  }
  const bytes = (of: readonly string[]): Buffer => {
    const whole = `${head}${of.join('\n')}\n`.replaceAll('\n', lineEnd);
    return Buffer.concat(
      whole.split('\xff').flatMap((part, i) => [...(i > 0 ? [Buffer.of(0xff)] : []), Buffer.from(part)]),
    );
  };
  return { body: bytes(lines), clean: bytes(goods), bad };
};

async function* pieces(bytes: Uint8Array, random: Random, most: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + random.below(most);
    yield await Promise.resolve(bytes.slice(at, at + size));
    at += size;
  }
}
const helperOf = (setup: BlockSetup, free: number): BlockHelper & { taken: number } => ({
  free,
  taken: 0,
  async parse(bytes, length) {
    this.taken++;
    const parsed = blockParser(setup, {})(bytes, length);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    return { bytes, parsed };
  },
  close: () => undefined,
});
const read = async (
  { format, csv }: Kind,
  input: AsyncIterable<Uint8Array>,
  more: { readonly errors?: 'skip' | 'wrap'; readonly faulty?: (record: FaultyRecord) => void; readonly free?: number },
): Promise<readonly string[]> => {
  const values: string[] = [];
  const { free = 0, ...options } = more;
  const batches = await openReader(format, input, {
    ...options,
    ...(csv && { csv }),
    batchRows: 100,
    helper: async (setup) => (free > 0 ? helperOf(setup, free) : undefined),
  });
  for await (const batch of batches) for (let i = 0; i < batch.length; i++) values.push(supText(valueAt(batch, i)));
  return values;
};

describe(`faulty records (SEED=${seed})`, () => {
  for (const kind of kinds) {
    test(`${kind.name}: short bodies in pieces of any size`, async () => {
      const random = randomOf(seed);
      for (let round = 0; round < 25; round++) {
        const { body, clean, bad } = bodyOf(kind, random, 1 + random.below(30), random.below(12));
        const good = await read(kind, pieces(clean, random, 1e6), {});
        const most = random.pick([1, 3, 20, 300, 1e6]);
        const found: FaultyRecord[] = [];
        const left = await read(kind, pieces(body, random, most), { errors: 'skip', faulty: (one) => found.push(one) });
        const at = `round ${round}, pieces up to ${most}:\n${body.toString('latin1')}`;
        expect({ at, left }).toEqual({ at, left: good });
        expect(found.length >= Math.min(1, bad.length)).toBe(true);
        const { lineEnd = '\n' } = kind;
        const lines = body.toString('latin1').split(lineEnd);
        for (const { line, column, raw } of found) {
          const here = lines
            .slice(line - 1)
            .join(lineEnd)
            .slice(column - 1);
          expect({ at, raw: here.slice(0, raw.length) }).toEqual({ at, raw: Buffer.from(raw).toString('latin1') });
        }
        const wrapped = await read(kind, pieces(body, random, most), { errors: 'wrap' });
        expect(wrapped.filter((value) => !value.startsWith('error('))).toEqual(good);
        expect(wrapped.length - good.length).toBe(found.length);
      }
    });
    if (['json', 'csv', 'tsv'].includes(kind.format))
      test(`${kind.name}: long bodies that several threads read`, async () => {
        const random = randomOf(seed + 1);
        const wide: Kind = { ...kind, good: (r, n) => `${kind.good(r, n)}${' '.repeat(kind.csv ? 0 : 300)}` };
        for (const [faults, free] of [
          [0, 2],
          [1, 2],
          [40, 5],
        ] as const) {
          const { body, clean } = bodyOf(wide, random, 9_000, faults);
          const good = await read(kind, pieces(clean, random, 1e6), {});
          const left = await read(kind, pieces(body, random, 200_000), { errors: 'skip', free });
          expect(left.length).toBe(good.length);
          expect(left).toEqual(good);
        }
      }, 60_000);
  }
});
