/** Bodies that were damaged on the way: the coding's fault is told, not what the format makes of it. */
import { describe, expect, test } from 'vitest';
import { crc32, deflateSync, gzipSync } from 'node:zlib';
import { Zstd } from '@hpcc-js/wasm-zstd';
import { LakeError } from '../../../src/errors.ts';
import { type FormatName, type ReadOptions, openReader } from '../../../src/formats/formats.ts';
import type { ContentCoding } from '../../../src/formats/codings/encoding.ts';
import { convert, pieces } from '../../support/formats/convert.ts';

const faultOf = async (
  input: AsyncIterable<Uint8Array>,
  format: FormatName | 'auto',
  options: ReadOptions = {},
): Promise<string> => {
  try {
    for await (const batch of await openReader(format, input, options)) expect(batch.length).toBeGreaterThan(0);
  } catch (problem) {
    if (problem instanceof LakeError) return problem.message;
    throw problem;
  }
  return '';
};
/** A gzip of stored blocks, so that a flipped bit is one of the text; with the checksum of the text as it was. */
const storedGzip = (text: string, wanted = text): Buffer => {
  const bytes = gzipSync(text, { level: 0 });
  bytes.writeUInt32LE(crc32(wanted), bytes.length - 8);
  return bytes;
};

const rows = 20_000;
const line = (i: number): string => `{"a":${i},"s":"${'x'.repeat(40)}"}\n`;
const text = Array.from({ length: rows }, (_, i) => line(i)).join('');
const broken = `${text.slice(0, 60)}\u0001${text.slice(61)}`;

describe('a flipped bit', () => {
  for (const [format, good, bad] of [
    ['json', text, text.replace('{"a":7,', '{"a"z7,')],
    ['csv', `a,b\n${'1,2\n'.repeat(5000)}`, `a,b\n${'1,2\n'.repeat(10)}1;2\n${'1,2\n'.repeat(4989)}`],
    ['auto', '{"a":1}\n'.repeat(5000), `}"a":1}\n${'{"a":1}\n'.repeat(4999)}`],
    ['sup', '{a:1}\n'.repeat(5000), `{a:1}\n{a;1}\n${'{a:1}\n'.repeat(4998)}`],
    ['auto', text, text.replace('{"a":9000,', '{"a"z9000,')],
  ] as const) {
    for (const pieceBytes of [1 << 20, 1000]) {
      test(`in the gzip of ${format}, in pieces of ${pieceBytes}, is the gzip's fault`, async () => {
        expect(await faultOf(pieces(storedGzip(bad, good), pieceBytes), format)).toBe('gzip: incorrect data check');
        expect(await faultOf(pieces(storedGzip(bad), pieceBytes), format)).toMatch(
          /^(json: invalid|csv: record|format detection error|sup: )/,
        );
      });
    }
  }
  test('that makes a value too long likewise', async () => {
    const bad = `{"s":"${'x'.repeat(20_000)}`;
    const good = `${bad.slice(0, 10)}"${bad.slice(11)}`;
    expect(await faultOf(pieces(storedGzip(bad, good), 1000), 'json', { valueBytesMax: 5000 })).toBe(
      'gzip: incorrect data check',
    );
    expect(await faultOf(pieces(storedGzip(bad), 1000), 'json', { valueBytesMax: 5000 })).toMatch(
      /^json: a single value: more than 5000 bytes/,
    );
  });
  test('in deflate and zstd, announced, with another coding around them too', async () => {
    const zstd = await Zstd.load();
    const zipped = zstd.compress(Buffer.from(broken));
    const deflated = deflateSync(broken, { level: 0 });
    deflated[deflated.length - 1]! ^= 1;
    const cases: readonly (readonly [Uint8Array, readonly ContentCoding[], RegExp])[] = [
      [deflated, ['deflate'], /^deflate: incorrect data check/],
      [gzipSync(deflated), ['deflate', 'gzip'], /^deflate: incorrect data check/],
      [zipped.subarray(0, zipped.length - 8), ['zstd'], /^zstd: /],
      [zipped, ['zstd'], /^json: /],
    ];
    for (const [bytes, contentCodings, fault] of cases)
      expect(await faultOf(pieces(bytes, 5000), 'json', { contentCodings })).toMatch(fault);
  });
  test('random ones in a gzip are never told as a fault of the format', async () => {
    const bytes = gzipSync(
      Array.from({ length: 3000 }, (_, i) => `{"a":${i * 7919},"s":"${(i * 104_729).toString(36)}"}\n`).join(''),
    );
    for (let i = 0; i < 200; i++) {
      const damaged = Buffer.from(bytes);
      const at = 12 + ((i * 7919) % (bytes.length - 20));
      damaged[at]! ^= 1 << (i % 8);
      expect((await convert(damaged, { from: i % 2 ? 'json' : 'auto', pieceBytes: 1 << 14 })).error).toMatch(
        /^(gzip: |$)/,
      );
    }
  });
});

describe('looking at the rest', () => {
  const endless = (
    head: Uint8Array,
    more: () => Promise<Uint8Array>,
  ): AsyncIterable<Uint8Array> & { closed: boolean } => ({
    closed: false,
    async *[Symbol.asyncIterator]() {
      try {
        yield head;
        for (;;) yield await more();
      } finally {
        this.closed = true;
      }
    },
  });
  const start = gzipSync(`oops${text}`, { level: 0 }).subarray(0, 100_000);

  test('ends when nothing comes any more', async () => {
    const began = performance.now();
    expect(
      await faultOf(
        endless(start, () => new Promise(() => undefined)),
        'json',
      ),
    ).toMatch(/^json: invalid character 'o'/);
    expect(performance.now() - began).toBeLessThan(10_000);
  });
  test('ends after so many compressed bytes, and closes the input', async () => {
    // Stored blocks of 60,000 bytes without an end.
    const block = Buffer.concat([Buffer.from([0, 0x60, 0xea, 0x9f, 0x15]), Buffer.alloc(60_000, 0x20)]);
    const head = Buffer.concat([
      gzipSync('').subarray(0, 10),
      Buffer.from([0, 5, 0, 0xfa, 0xff]),
      Buffer.from('oops\n'),
    ]);
    let given = 0;
    const input = endless(head, () => {
      given += block.length;
      return Promise.resolve(block);
    });
    expect(await faultOf(input, 'json')).toMatch(/^json: invalid character 'o'/);
    expect(given).toBeLessThan(40 << 20);
    expect(input.closed).toBe(true);
  });
  test('goes no further than the input may expand', async () => {
    const bomb = gzipSync(Buffer.concat([Buffer.from('oops'), Buffer.alloc(40_000_000, 0x20)]));
    bomb[bomb.length - 6]! ^= 1;
    expect(await faultOf(pieces(bomb, 1000), 'json', { expandedBytesMax: 1_000_000 })).toMatch(/^json: /);
    expect(await faultOf(pieces(bomb, 1000), 'json')).toBe('gzip: incorrect data check');
  });
  test('is not for bytes without a coding: the answer comes at once', async () => {
    let asked = 0;
    const input = endless(Buffer.from('oops\n'), () => {
      asked++;
      return Promise.resolve(Buffer.alloc(1000, 0x20));
    });
    expect(await faultOf(input, 'json')).toMatch(/^json: /);
    expect(asked).toBeLessThan(3);
    expect(input.closed).toBe(true);
  });
  test('is not for a reader that is left', async () => {
    const input = endless(gzipSync(text), () => new Promise(() => undefined));
    for await (const batch of await openReader('json', input)) {
      expect(batch.length).toBeGreaterThan(0);
      break;
    }
  });
});
