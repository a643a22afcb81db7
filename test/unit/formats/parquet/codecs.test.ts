/** How pages of files of tables are compressed: what hardly repeats is not searched for what came before. */
import { gunzipSync } from 'node:zlib';
import { Zstd } from '@hpcc-js/wasm-zstd';
import { describe, expect, test } from 'vitest';
import { smallPages } from '../../../../src/formats/parquet/page-codecs.ts';
import { randomOf } from '../../../support/random.ts';

const pageBytes = 1 << 20;
const pageOf = (line: () => string, encoding: BufferEncoding = 'utf8'): Buffer => {
  const lines: string[] = [];
  for (let bytes = 0; bytes < pageBytes; bytes += lines.at(-1)!.length) lines.push(line());
  return Buffer.from(lines.join(''), encoding);
};
const random = randomOf(7);
const pages = {
  'ids at random': pageOf(() => `C${random.hex(10)}`),
  paths: pageOf(() => `/api/v${1 + random.below(3)}/items/${random.below(100_000)}`),
  'bytes at random': pageOf(() => String.fromCharCode(random.below(256)), 'latin1'),
  zeros: Buffer.alloc(pageBytes),
  'a few bytes': Buffer.from('few'),
  nothing: Buffer.alloc(0),
};

describe('a page of', () => {
  for (const [name, page] of Object.entries(pages)) {
    test(`${name} is read back`, async () => {
      const packed = smallPages.compress(page);
      const back = smallPages.name === 'GZIP' ? gunzipSync(packed) : (await Zstd.load()).decompress(packed);
      expect(Buffer.compare(Buffer.from(back), page)).toBe(0);
    });
  }
});

/** The kinds of blocks are not told apart by readers: sizes tell whether what came before was looked for. */
describe.runIf(smallPages.name === 'GZIP')('by gzip', () => {
  const partOf = (page: Uint8Array): number => smallPages.compress(page).length / page.length;

  test('paths are matched with those before: codes alone would be half of them', () => {
    expect(partOf(pages.paths)).toBeLessThan(0.35);
  });
  test('zeros are next to nothing', () => {
    expect(partOf(pages.zeros)).toBeLessThan(0.01);
  });
  test('ids are given codes alone, and are smaller by that', () => {
    expect(partOf(pages['ids at random'])).toBeGreaterThan(0.5);
    expect(partOf(pages['ids at random'])).toBeLessThan(0.6);
  });
  test('what cannot be smaller grows by some bytes at most', () => {
    expect(smallPages.compress(pages['bytes at random']).length - pages['bytes at random'].length).toBeLessThan(1024);
  });
});
