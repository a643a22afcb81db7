/** The secret of a lake's tokens: made once, kept, and readable by its owner alone. */
import { mkdtempSync, rmSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { icebergSecret } from '../../src/commands/iceberg-secret.ts';
import { Seals } from '../../src/http/iceberg/seals.ts';

const folder = mkdtempSync(join(tmpdir(), 'lake-secret-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

test('is the same at each start, and another where the file is gone or damaged', () => {
  const path = join(folder, 'iceberg.secret');
  const first = Buffer.from(icebergSecret(folder));
  expect([first.length, statSync(path).mode & 0o777]).toEqual([32, 0o600]);
  expect(Buffer.from(icebergSecret(folder))).toEqual(first);
  writeFileSync(path, readFileSync(path, 'utf8').slice(1));
  const second = Buffer.from(icebergSecret(folder));
  expect(second).not.toEqual(first);
  rmSync(path);
  // A start that was cut off leaves the file beside it.
  writeFileSync(`${path}.new`, 'half');
  expect(Buffer.from(icebergSecret(folder))).not.toEqual(second);
  const said = { pool: 'p', expiresMs: 1 };
  const seals = new Seals(first);
  expect(seals.open('files', seals.seal('files', said))).toEqual(said);
  expect(new Seals(second).open('files', seals.seal('files', said))).toBeUndefined();
});
