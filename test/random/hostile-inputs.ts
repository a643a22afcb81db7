/**
 * Inputs for the readers that nobody would write: samples that are cut, flipped, spliced, given lengths beyond their
 * end, and generators of deep nesting and of types that double. Input `i` of a target is the same for the same seed,
 * whatever came before it.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { type Random, randomOf } from '../support/random.ts';
import { hostileFile } from './hostile-files.ts';
import { hostileQuery, querySamples } from './queries/hostile.ts';
import { hostileLog, otlpSamples } from './otlp-samples.ts';

const folder = fileURLToPath(new URL('../cases/formats/samples/', import.meta.url));
const all = readdirSync(folder)
  .filter((name) => name !== 'index.json' && !name.endsWith('.gz'))
  .map((name) => ({ name, bytes: new Uint8Array(readFileSync(folder + name)) }));
const endingOf = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

const samplesOf = (target: string): readonly Uint8Array[] => {
  const text = all.filter(({ name }) => endingOf(name) === 'sup').map(({ bytes }) => bytes);
  switch (target) {
    case 'gzip':
      return text.map((b) => new Uint8Array(gzipSync(b)));
    case 'deflate':
      return text.map((b) => new Uint8Array(deflateSync(b)));
    case 'br':
      return text.map((b) => new Uint8Array(brotliCompressSync(b)));
    // Made by the program of Zstandard's authors, since Node has no writer: a frame with a checksum, one of several
    // blocks, one of runs.
    case 'zstd':
      return zstdSamples();
    case 'query':
      return querySamples();
    case 'auto':
      return all.map(({ bytes }) => bytes);
    default: {
      const otlp = otlpSamples(target);
      if (otlp) return otlp;
      const own = all.filter(({ name }) => endingOf(name) === target).map(({ bytes }) => bytes);
      return own.length > 0 ? own : text;
    }
  }
};
const zstdSamples = (): readonly Uint8Array[] =>
  JSON.parse(readFileSync(new URL('zstd-samples.json', import.meta.url), 'utf8')).map(
    (text: string) => new Uint8Array(Buffer.from(text, 'base64')),
  ) as Uint8Array[];

/** Beyond this a sample is rarely taken: small ones find as much in less time. */
const smallBytes = 8192;

type MakeInput = (index: number) => Uint8Array;

/** The inputs of a target. */
export const hostileInputs = (target: string, seed: number): MakeInput => {
  const samples = samplesOf(target);
  const small = samples.filter((b) => b.length <= smallBytes);
  let targetSeed = seed;
  for (const c of target) targetSeed = Math.imul(targetSeed, 31) + c.charCodeAt(0);
  return (index) => {
    const random = randomOf(Math.imul(index, 0x9e3779b1) ^ targetSeed);
    const generate = generators[target];
    if (generate && random.below(10) === 0) {
      const made = generate(random);
      return random.below(2) === 0 ? made : mutated(made, random, [made]);
    }
    const from = random.below(40) === 0 || small.length === 0 ? samples : small;
    // What is spliced in may be of any format.
    return mutated(random.pick(from), random, random.below(20) === 0 ? all.map((s) => s.bytes) : from);
  };
};

const mutated = (sample: Uint8Array, random: Random, others: readonly Uint8Array[]): Uint8Array => {
  let bytes: Uint8Array = sample.slice();
  for (let times = 1 + random.below(random.below(3) === 0 ? 8 : 3); times > 0; times--)
    bytes = random.pick(mutations)(bytes, random, others);
  return bytes;
};

type Mutation = (bytes: Uint8Array, random: Random, others: readonly Uint8Array[]) => Uint8Array;

const place = (bytes: Uint8Array, random: Random): number => random.below(bytes.length + 1);
const replaced = (bytes: Uint8Array, start: number, end: number, by: Uint8Array): Uint8Array => {
  const out = new Uint8Array(start + by.length + bytes.length - end);
  out.set(bytes.subarray(0, start));
  out.set(by, start);
  out.set(bytes.subarray(end), start + by.length);
  return out;
};
const over = (bytes: Uint8Array, at: number, by: Uint8Array): Uint8Array => {
  bytes.set(by.subarray(0, Math.max(0, bytes.length - at)), at);
  return bytes;
};

/** Numbers at the edges of what lengths can be. */
const edges = [
  0n,
  1n,
  0x7fn,
  0x80n,
  0xffn,
  0x7fffn,
  0xffffn,
  0x10000n,
  0xffffffn,
  0x7fffffffn,
  0x80000000n,
  0xffffffffn,
  0x100000000n,
  2n ** 40n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 63n - 1n,
  2n ** 64n - 1n,
];
const edge = (random: Random): bigint => (random.below(3) === 0 ? BigInt(random.below(1 << 20)) : random.pick(edges));
const varint = (x: bigint): Uint8Array => {
  const out: number[] = [];
  for (; x > 0x7fn; x >>= 7n) out.push(Number(x & 0x7fn) | 0x80);
  return Uint8Array.from([...out, Number(x)]);
};
const fixed = (x: bigint, width: number, bigEndian: boolean): Uint8Array => {
  const out = Uint8Array.from({ length: width }, (_, i) => Number((x >> BigInt(8 * i)) & 0xffn));
  return bigEndian ? out.reverse() : out;
};

const tokens = [
  '[',
  ']',
  '{',
  '}',
  '|[',
  '|{',
  '}|',
  ']|',
  '(',
  ')',
  '<',
  '>',
  '"',
  "'",
  '\\',
  '\\u',
  '\\ud800',
  '::',
  ':',
  ',',
  ';',
  '\n',
  '\r\n',
  '\r',
  '\t',
  ' ',
  '\0',
  '%',
  '#',
  '_',
  '-',
  '--',
  '+',
  '.',
  'e',
  'E+',
  '0x',
  '0b',
  'error(',
  'enum(',
  'null',
  'true',
  'NaN',
  '-Inf',
  '1e999',
  '1e-999',
  '99999999999999999999999999',
  '-9223372036854775808',
  '18446744073709551615',
  '2020-01-01T00:00:00Z',
  '1y1d1ns',
  '::1',
  '10.0.0.0/8',
  '#fields\t',
  '#types\t',
  '#separator \\x09\n',
  '#set_separator\t,\n',
  '#close\n',
  'vector[',
  'set[',
  'record',
  '""',
  '"":',
  '{"type":',
  '"kind":"ref","id":30',
  '"id":-1',
  '\ufeff',
  '\u0301',
  'é',
  '\u{10ffff}',
  '\x80',
  '\xff',
].map((t) =>
  t.length === 1 && t.charCodeAt(0) >= 0x80 && t.charCodeAt(0) < 0x100 && t !== 'é'
    ? Uint8Array.of(t.charCodeAt(0))
    : new Uint8Array(Buffer.from(t)),
);

const mutations: readonly Mutation[] = [
  (bytes, random) => bytes.slice(0, place(bytes, random)),
  (bytes, random) => bytes.slice(random.below(2) === 0 ? random.below(16) : place(bytes, random)),
  (bytes, random) => {
    for (let n = 1 + random.below(8); n > 0 && bytes.length > 0; n--)
      bytes[random.below(bytes.length)] ^= 1 << random.below(8);
    return bytes;
  },
  (bytes, random) => {
    for (let n = 1 + random.below(4); n > 0 && bytes.length > 0; n--)
      bytes[random.below(bytes.length)] = random.pick([0, 1, 2, 0x7f, 0x80, 0xfe, 0xff, random.below(256)]);
    return bytes;
  },
  (bytes, random) => over(bytes, place(bytes, random), varint(edge(random))),
  (bytes, random) => {
    const at = place(bytes, random);
    return replaced(bytes, at, Math.min(bytes.length, at + 1), varint(edge(random)));
  },
  (bytes, random) =>
    over(bytes, place(bytes, random), fixed(edge(random), random.pick([2, 4, 8]), random.below(4) === 0)),
  // Aligned, and about as large as the input itself: offsets that nearly fit.
  (bytes, random) =>
    over(bytes, place(bytes, random) & ~3, fixed(BigInt(Math.max(0, bytes.length - 8 + random.below(16))), 4, false)),
  (bytes, random) => {
    const start = place(bytes, random);
    const end = Math.min(bytes.length, start + 1 + random.below(random.pick([4, 64, 4096])));
    return replaced(bytes, start, end, new Uint8Array(0));
  },
  (bytes, random) => {
    const start = place(bytes, random);
    const part = bytes.slice(start, start + 1 + random.below(random.pick([4, 64, 1024])));
    const times = Math.min(1 + random.below(random.pick([2, 16, 4096])), Math.floor(65_536 / Math.max(1, part.length)));
    const many = new Uint8Array(part.length * times);
    for (let k = 0; k < times; k++) many.set(part, k * part.length);
    return replaced(bytes, start, start, many);
  },
  (bytes, random) => {
    const at = place(bytes, random);
    return replaced(bytes, at, at, random.pick(tokens));
  },
  (bytes, random) => over(bytes, place(bytes, random), random.pick(tokens)),
  (bytes, random) => {
    const at = place(bytes, random);
    return replaced(
      bytes,
      at,
      at,
      Uint8Array.from({ length: 1 + random.below(40) }, () => random.below(256)),
    );
  },
  (bytes, random, others) => {
    const other = random.pick(others);
    const at = place(bytes, random);
    const start = place(other, random);
    return replaced(
      bytes,
      at,
      place(bytes, random) < at ? at : bytes.length,
      other.subarray(start, start + random.below(2048)),
    );
  },
  (bytes, random) => {
    const a = place(bytes, random);
    const length = random.below(64);
    const b = place(bytes, random);
    const part = bytes.slice(a, a + length);
    over(bytes, a, bytes.slice(b, b + length));
    return over(bytes, b, part);
  },
  (bytes) => replaced(bytes, bytes.length, bytes.length, bytes),
];

const repeat = (text: string, times: number): string => text.repeat(times);
const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));
const depth = (random: Random): number => random.pick([10, 100, 999, 1001, 5_000, 50_000]);

const deepJson = (random: Random): string => {
  const n = depth(random);
  return random.pick([
    repeat('[', n),
    repeat('[', n) + repeat(']', n),
    repeat('{"a":', n) + '1' + repeat('}', n),
    repeat('[{"a":', n),
    repeat('[1,', n),
    repeat('[[],', n),
    repeat('[[1],["x"],', n),
  ]);
};
const deepSup = (random: Random): string => {
  const n = depth(random);
  const open = random.pick([
    '[',
    '|[',
    '|{',
    '{a:',
    'error(',
    '<[',
    '<|[',
    '<error(',
    '<{a:',
    '<(int64,',
    '[1::',
    '(',
    '{a:1::(',
    '|{1:',
  ]);
  const closers: Readonly<Record<string, string>> = {
    '[': ']',
    '|[': ']|',
    '|{': '}|',
    '{a:': '}',
    'error(': ')',
    '|{1:': '}|',
  };
  return random.pick([
    repeat(open, n),
    `${repeat(open, n)}1${repeat(closers[open] ?? '', n)}`,
    `<${repeat('[', n)}int64${repeat(']', n)}>`,
    `1::${repeat('(int64,', n)}string${repeat(')', n)}`,
    Array.from(
      { length: Math.min(n, 2000) },
      (_, i) => `1::t${i}=${i === 0 ? 'int64' : `{a:t${i - 1},b:t${i - 1}}`}`,
    ).join(' '),
    `{${Array.from({ length: Math.min(n, 20_000) }, (_, i) => `f${i}:${i}`).join(',')}}`,
  ]);
};
/** JSUP types that nest, or that refer to the one before twice. */
const deepJsup = (random: Random): string => {
  const n = depth(random);
  const nested = `{"type":${repeat('{"kind":"array","id":30,"type":', n)}{"kind":"primitive","name":"int64"}${repeat('}', n)},"value":${repeat('[', n)}${repeat(']', n)}}\n`;
  const twice = Array.from({ length: 60 }, (_, i) => {
    const inner = i === 0 ? '{"kind":"primitive","name":"int64"}' : `{"kind":"ref","id":${29 + i}}`;
    return `{"type":{"kind":"record","id":${30 + i},"fields":[{"name":"a","type":${inner}},{"name":"b","type":${inner}}]},"value":null}\n`;
  });
  return random.pick([nested, twice.join(''), nested.slice(0, n)]);
};
const frame = (kind: number, payload: Uint8Array): Uint8Array =>
  Uint8Array.from([0x81, (kind << 4) | (payload.length & 15), ...varint(BigInt(payload.length >> 4)), ...payload]);
/** Typedefs that refer to the one before twice, or nest; then a value that asks for the last. */
const bombBsup = (random: Random): Uint8Array => {
  const n = random.pick([10, 60, 1000, 5000]);
  const defs: number[] = [];
  const kind = random.below(8);
  for (let i = 0; i < n; i++) {
    const before = [...varint(BigInt(i === 0 ? 9 : 29 + i))];
    const more = [...varint(BigInt(i === 0 ? 25 : 29 + i))];
    switch (kind) {
      case 0:
        defs.push(0, 2, 1, 97, ...before, 0, 1, 98, ...before, 0);
        break;
      case 1:
        defs.push(1, ...before);
        break;
      case 2:
        defs.push(2, ...before);
        break;
      case 3:
        defs.push(3, ...before, ...before);
        break;
      case 4:
        defs.push(4, 2, ...before, ...(i === 0 ? more : [9]));
        break;
      case 5:
        defs.push(6, ...before);
        break;
      case 6:
        defs.push(7, 1, 97 + (i % 26), ...before);
        break;
      default:
        defs.push(0, 1, 1, 97, ...before, 1);
        break;
    }
  }
  const last = varint(BigInt(29 + n));
  const value = random.pick([[0], [1], [2, 0], [255, 255, 3]]);
  return Uint8Array.from([...frame(0, Uint8Array.from(defs)), ...frame(1, Uint8Array.from([...last, ...value])), 0xff]);
};
const wideCsv =
  (delimiter: string) =>
  (random: Random): Uint8Array => {
    const n = random.pick([10, 1000, 30_000]);
    return bytesOf(
      random.pick([
        `${Array.from({ length: n }, (_, i) => `c${i}`).join(delimiter)}\n${repeat(`1${delimiter}`, n - 1)}1\n`,
        `a${delimiter}b\n${repeat('"', n)}`,
        `a${delimiter}b\n"${repeat('""', n)}"${delimiter}1\n`,
        `a${delimiter}b\n${repeat('\n', n)}1${delimiter}2`,
        `a${delimiter}b\n${repeat(' ', n)}1${delimiter}${repeat('9', n)}\n`,
      ]),
    );
  };
const zeekBomb = (random: Random): Uint8Array => {
  const n = depth(random);
  return bytesOf(
    random.pick([
      `#separator \\x09\n#fields\ta\n#types\t${repeat('vector[', n)}int${repeat(']', n)}\n1\n`,
      `#separator \\x09\n#fields\t${Array.from({ length: Math.min(n, 5000) }, (_, i) => `a${repeat('.b', i % 50)}${i}`).join('\t')}\n#types\t${repeat('int\t', Math.min(n, 5000) - 1)}int\n1\n`,
      `#separator \\x09\n#fields\t${repeat('a.', Math.min(n, 5000))}b\n#types\tint\n1\n`,
      `#separator ${repeat('\\x09', n)}\n`,
      `#separator \\x09\n#fields\ta\n#types\tset[string]\n${repeat(',', n)}\n`,
    ]),
  );
};
/** Blocks of runs, and of sequences that copy as much as they can. */
const zstdBomb = (random: Random): Uint8Array => {
  const head = [0x28, 0xb5, 0x2f, 0xfd, 0, random.pick([0, 0x38, 0x58, 0x68, 0xff])];
  const run = [(random.below(131_072) << 3) | 2, 0x20];
  const block =
    random.below(2) === 0
      ? [run[0] & 255, (run[0] >> 8) & 255, run[0] >> 16, 0x20]
      : // Compressed, one literal, 255 * 256 sequences of one kind each.
        [0x5c, 0, 0, 0x08, 0x20, 0xff, 0xff, 0xff, 0x54, 0, 0, random.pick([52, 51, 40]), 0xff, 0xff];
  return Uint8Array.from([...head, ...Array.from({ length: random.pick([1, 20, 200]) }, () => block).flat()]);
};

const generators: Readonly<Record<string, (random: Random) => Uint8Array>> = {
  json: (random) => bytesOf(deepJson(random)),
  'otlp-logs': hostileLog,
  'otlp-logs-json': (random) => bytesOf(deepJson(random)),
  sup: (random) => bytesOf(deepSup(random)),
  jsup: (random) => bytesOf(deepJsup(random)),
  bsup: (random) => (random.below(2) === 0 ? bombBsup(random) : hostileFile('bsup', random)),
  csup: (random) => hostileFile('csup', random),
  arrows: (random) => hostileFile('arrows', random),
  parquet: (random) => hostileFile('parquet', random),
  line: (random) =>
    bytesOf(
      random.pick([
        repeat('x', depth(random) * 20),
        repeat('\n', depth(random)),
        repeat('\r\n', depth(random)),
        repeat('\x80', depth(random)),
      ]),
    ),
  query: (random) => bytesOf(hostileQuery(random, depth(random))),
  csv: wideCsv(','),
  tsv: wideCsv('\t'),
  zeek: zeekBomb,
  zstd: zstdBomb,
  gzip: (random) => new Uint8Array(gzipSync(Buffer.alloc(random.below(1 << 23), ' '))),
  deflate: (random) => new Uint8Array(deflateSync(Buffer.alloc(random.below(1 << 23), ' '))),
  br: (random) => new Uint8Array(brotliCompressSync(Buffer.alloc(random.below(1 << 23), ' '), { params: { 1: 1 } })),
  auto: (random) =>
    random.pick([
      () => bytesOf(deepJson(random)),
      () => bytesOf(deepSup(random)),
      () => bombBsup(random),
      () => bytesOf(deepJsup(random)),
      () => zeekBomb(random),
    ])(),
};
