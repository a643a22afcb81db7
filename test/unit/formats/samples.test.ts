/** The recorded samples: each reads as what its index says, in pieces of any size, and is written as recorded. */
import { describe, expect, test } from 'vitest';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type FormatName, formatTable, isFormatName } from '../../../src/formats/formats.ts';
import { convert } from '../../support/formats/convert.ts';

const folder = fileURLToPath(new URL('../../cases/formats/samples/', import.meta.url));
interface Sample {
  readonly file: string | null;
  readonly format: string;
  readonly options?: string;
  readonly source?: string;
  readonly equals?: string;
  readonly sup?: string;
}
const { files } = JSON.parse(readFileSync(`${folder}index.json`, 'utf8')) as { readonly files: readonly Sample[] };
const bytesOf = (name: string): Buffer => readFileSync(folder + name);
const expected = (s: Sample): string => {
  if (s.sup !== undefined) return s.sup;
  if (s.equals === 'values.sup twice') return bytesOf('values.sup').toString().repeat(2);
  if (s.equals?.endsWith('.sup')) return bytesOf(s.equals).toString();
  return bytesOf(s.source ?? s.file!).toString();
};
const optionsOf = (
  s: Sample,
): { readonly pretty: number; readonly noHeader: boolean; readonly csvDelimiter: string; readonly optFlags: true } => ({
  optFlags: true,
  pretty: Number(/-pretty (\d+)/.exec(s.options ?? '')?.[1] ?? 0),
  noHeader: s.file!.includes('noheader'),
  csvDelimiter: s.file!.includes('semicolon') ? ';' : ',',
});
const readable = files.filter(
  (s): s is Sample & { file: string; format: FormatName } =>
    s.file !== null && isFormatName(s.format) && formatTable[s.format].reader !== undefined,
);

describe('reading', () => {
  for (const s of readable) {
    for (const pieceBytes of [1, 7, 1 << 20]) {
      test(`${s.file} in pieces of ${pieceBytes}`, async () => {
        expect(await convert(bytesOf(s.file), { from: s.format, read: optionsOf(s), pieceBytes })).toEqual({
          output: expected(s),
          error: '',
        });
      });
    }
  }
});

/** Absent optional fields are left out by our JSON; recorded is their zero value. */
const jsonOf = (text: string): string =>
  text
    .replaceAll(',"b":""}', '}')
    .replace('"m":0,', '')
    .replace(',"o":[]', '')
    .replace(',\n  "b": ""\n}', '\n}')
    .replace('  "m": 0,\n', '')
    .replace(',\n  "o": []', '');

describe('writing', () => {
  for (const s of files) {
    if (
      s.file === null ||
      !s.source ||
      s.file.endsWith('.gz') ||
      !isFormatName(s.format) ||
      !['sup', 'json', 'csv', 'tsv', 'line', 'zeek', 'jsup'].includes(s.format)
    )
      continue;
    const format = s.format;
    test(`${s.file} from ${s.source}`, async () => {
      const recorded = bytesOf(s.file!).toString();
      expect(await convert(bytesOf(s.source!), { from: 'sup', to: format, write: optionsOf(s) })).toEqual({
        output: format === 'json' ? jsonOf(recorded) : recorded,
        error: '',
      });
    });
  }
});
