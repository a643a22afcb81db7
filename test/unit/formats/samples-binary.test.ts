/**
 * Every recorded sample through our writers of the binary formats: what we write of it reads as what its index says, to
 * us and to an independent reader.
 */
import { describe, expect, test } from 'vitest';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  type FormatName,
  type WriteOptions,
  createWriter,
  formatTable,
  isFormatName,
} from '../../../src/formats/formats.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { convert, read, written } from '../../support/formats/convert.ts';

const folder = fileURLToPath(new URL('../../cases/formats/samples/', import.meta.url));
interface Sample {
  readonly file: string | null;
  readonly format: string;
  readonly source?: string;
  readonly equals?: string;
  readonly sup?: string;
}
const { files } = JSON.parse(readFileSync(`${folder}index.json`, 'utf8')) as { readonly files: readonly Sample[] };
const text = (name: string): string => readFileSync(folder + name, 'utf8');
/** What the sample reads back as. */
const stated = (s: Sample): string => {
  if (s.equals === 'values.sup twice') return text('values.sup').repeat(2);
  return s.sup ?? text(s.equals ?? s.source ?? s.file!);
};
const readable = files.filter(
  (s): s is Sample & { file: string; format: FormatName } =>
    s.file !== null && isFormatName(s.format) && formatTable[s.format].reader !== undefined,
);
const delimiter = (s: Sample): string => (s.file!.includes('semicolon') ? ';' : ',');

const ways: readonly (readonly [string, FormatName, WriteOptions])[] = [
  ['bsup', 'bsup', {}],
  ['bsup, not compressed', 'bsup', { bsupCompress: false }],
  ['bsup in small frames', 'bsup', { bsupFrameBytes: 40 }],
  ['csup', 'csup', {}],
  ['jsup', 'jsup', {}],
  ['jsup as x-zjson has it', 'jsup', { channelIds: true }],
  ['jsup with all flags', 'jsup', { optFlags: true }],
];

describe('what we write of a sample reads as its index says', () => {
  for (const [name, format, options] of ways) {
    for (const s of readable) {
      test(`${s.file} as ${name}`, async () => {
        const writer = createWriter(format, options);
        const chunks: Uint8Array[] = [];
        for (const batch of await read(readFileSync(folder + s.file), s.format, { csvDelimiter: delimiter(s) }))
          chunks.push(...writer.write(batch));
        chunks.push(...writer.end());
        expect(await convert(Buffer.concat(chunks), { from: format, pieceBytes: 999 })).toEqual({
          output: stated(s),
          error: '',
        });
      });
    }
  }
});

describe('an independent reader of BSUP', () => {
  const directory = process.env['EXCHANGES_DIR'];
  const script =
    'import sys, json, base64, replay\njson.dump([replay.bsup_text(base64.b64decode(b)).split("\\n") for b in json.load(sys.stdin)], sys.stdout)';
  const lines = (streams: readonly Uint8Array[]): readonly (readonly string[])[] => {
    const input = JSON.stringify(streams.map((bytes) => Buffer.from(bytes).toString('base64')));
    const { stdout, stderr, status } = spawnSync('python3', ['-c', script], {
      cwd: directory,
      input,
      encoding: 'utf8',
      maxBuffer: 1 << 28,
      env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
    });
    if (status !== 0) throw new Error(stderr);
    return JSON.parse(stdout) as readonly (readonly string[])[];
  };
  for (const name of ['values', 'flat', 'nulls', 'mixed', 'big']) {
    test(`sees in ours what it sees in ${name}.bsup`, ({ skip }) => {
      if (!directory) {
        expect(process.env['NO_SKIPS'], 'EXCHANGES_DIR is not set').toBeUndefined();
        return skip('EXCHANGES_DIR is not set');
      }
      const values = parseSupValues(text(`${name}.sup`));
      const [recorded, ...ours] = lines([
        readFileSync(`${folder}${name}.bsup`),
        ...[{}, { bsupCompress: false }, { bsupFrameBytes: 1000 }].map((options) => written(values, 'bsup', options)),
      ]);
      expect(recorded!.length).toBeGreaterThan(values.length);
      for (const found of ours) expect(found).toEqual(recorded);
      return undefined;
    });
  }
});
