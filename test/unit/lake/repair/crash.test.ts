import { spawn } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { openObjects } from '../../../../src/lake/objects/objects.ts';
import { scriptArguments } from '../../../support/script.ts';
import { keysAt, metaRows, openTestLake, temporaryDirectory } from '../support.ts';

const faultWriter = scriptArguments(new URL('./fault-writer.ts', import.meta.url));
const writer = scriptArguments(new URL('./crash-writer.ts', import.meta.url));

/**
 * Lets a process commit until it has acknowledged so many, then kills it. Answers with what it acknowledged: key,
 * commit, object.
 */
const killAfter = (
  directory: string,
  firstKey: number,
  acknowledged: number,
): Promise<readonly (readonly string[])[]> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...writer, directory, String(firstKey)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    let fault = '';
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString('utf8');
      if (out.split('\n').length > acknowledged) child.kill('SIGKILL');
    });
    child.stderr.on('data', (chunk: Buffer) => {
      fault += chunk.toString('utf8');
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (signal === 'SIGKILL')
        resolve(
          out
            .split('\n')
            .filter((line) => line.split(' ').length === 3)
            .map((line) => line.split(' ')),
        );
      else reject(new Error(`the writer ended by itself (${code}): ${fault}`));
    });
  });

describe('kill -9 under load (P1, P2, reference mistake 10)', () => {
  test('what was acknowledged is there after each of five kills, nothing is torn, no file is left over', {
    timeout: 240_000,
  }, async () => {
    const directory = await temporaryDirectory();
    const acknowledged: (readonly string[])[] = [];
    for (let round = 0; round < 5; round++)
      acknowledged.push(...(await killAfter(directory, round * 100_000, 20 + round * 37)));
    const lake = await openTestLake({ directory });
    const keys = new Set(await keysAt(lake, 'p', 'main'));
    const commits = new Map(
      (await metaRows(lake, 'p', 'log')).flatMap((row) =>
        row.kind === 'commit' ? [[row.commit.id, row.commit] as const] : [],
      ),
    );
    expect(acknowledged.length).toBeGreaterThan(5 * 20);
    for (const [key, commit, object] of acknowledged) {
      expect(keys.has(key!)).toBe(true);
      expect(commits.get(commit!)?.adds).toEqual([object]);
    }
    // Whole or not at all: as many commits as objects, and each object can be read.
    expect(commits.size).toBe(keys.size);
    const snapshot = await lake.openSnapshot('p', 'main');
    const { objects } = snapshot.page({ limit: 100_000 });
    const store = openObjects(directory);
    for (const object of objects) expect((object.inline ?? (await store.readRange(object.id, 0, 4))).length).toBe(4);
    snapshot.release();
    await lake.close();
    const files: string[] = [];
    for await (const id of store.list()) files.push(id);
    expect(files.sort()).toEqual(
      objects
        .filter((o) => !o.inline)
        .map((o) => o.id)
        .sort(),
    );
  });
});

describe('a store that fails under a transaction', () => {
  test('writes are refused with the reason, reads go on, what was acknowledged is there after the next start', {
    timeout: 180_000,
  }, async () => {
    const directory = await temporaryDirectory();
    const out = await new Promise<string>((resolve, reject) => {
      // 512-byte blocks in sh: 4 MiB a file.
      const child = spawn(
        '/bin/sh',
        ['-c', 'ulimit -f 8192; exec "$@"', 'sh', process.execPath, ...faultWriter, directory],
        { stdio: ['ignore', 'pipe', 'ignore'] },
      );
      let text = '';
      child.stdout.on('data', (chunk: Buffer) => {
        text += chunk.toString('utf8');
      });
      child.on('error', reject);
      child.on('close', () => resolve(text));
    });
    const told = JSON.parse(out) as { readonly acknowledged: number };
    expect(told.acknowledged).toBeGreaterThan(10);
    expect(told).toEqual({
      code: 'lake-failed',
      acknowledged: told.acknowledged,
      after: ['lake-failed', 'lake-failed', 'lake-failed'],
      read: told.acknowledged,
      // A write that came out short, or one that lay behind the limit.
      status: { state: 'failed', reason: expect.stringMatching(/^Input\/output error$|^File too large/) as unknown },
    });
    const lake = await openTestLake({ directory });
    expect((await keysAt(lake, 'p', 'main')).length).toBe(told.acknowledged);
    expect(lake.status()).toEqual({ state: 'ready' });
  });
});
