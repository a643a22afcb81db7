/**
 * The secret by which a lake's Iceberg tokens are sealed, in a file of its folder that only its owner may read.
 *
 * It is kept, so that engines go on with the credentials that they have when the service starts again. A copy of the
 * lake has it too, and lets nobody in by it: tokens stand for keys (http/iceberg/seals.ts). Removing the file ends all
 * tokens at the next start.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../errors.ts';

/** In the lake's folder. */
const secretName = 'iceberg.secret';
const secretBytes = 32;

/** The secret of a lake's folder, made if there is none, or what is there is no secret. */
export const icebergSecret = (directory: string): Uint8Array => {
  const path = join(directory, secretName);
  const known = secretIn(path);
  if (known) return known;
  const secret = randomBytes(secretBytes);
  const beside = `${path}.new`;
  rmSync(beside, { force: true });
  const file = openSync(beside, 'wx', 0o600);
  try {
    writeSync(file, `${secret.toString('hex')}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(beside, path);
  return secret;
};

const secretIn = (path: string): Uint8Array | undefined => {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  return /^[0-9a-f]{64}\n$/.test(text) ? Buffer.from(text.trim(), 'hex') : undefined;
};
