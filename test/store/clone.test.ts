/** Copies of a lake's folder while its service compacts and vacuums: a backup that need not wait for a quiet minute. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openLake } from '../../src/lake/lake.ts';
import { openObjects } from '../../src/lake/objects/objects.ts';
import { cloneFolder } from '../../src/lake/store/clone.ts';
import { runProgram } from '../support/service/lake-command.ts';
import { startService } from '../support/service/server.ts';

const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-clone-test-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
};

test('a lake is copied while objects come and go without a pause', async () => {
  const service = await startService();
  onTestFinished(() => service.close());
  await service.ask('POST', '/pool', { body: '{"name":"p","layout":{"order":"asc","keys":[["k"]]}}' });
  // Beyond what is kept in the log: each load is a file.
  const rows = 4000;
  const body = Array.from({ length: rows }, (_, k) => `{"k":${k},"text":"${Math.sin(k)} ${Math.cos(k)}"}`).join('\n');
  let loads = 0;
  let isOver = false;
  const load = async (): Promise<void> => {
    expect((await service.ask('POST', '/pool/p/branch/main', { body })).status).toBe(200);
    loads++;
  };
  await load();
  const churn = (async () => {
    while (!isOver) {
      await load();
      const found = await service.query('from p@main:objects | values ksuid(id)');
      const ids = found
        .trim()
        .split('\n')
        .map((id) => JSON.parse(id));
      const compacted = { body: JSON.stringify({ object_ids: ids }) };
      expect((await service.ask('POST', '/pool/p/branch/main/compact', compacted)).status).toBe(200);
      expect((await service.ask('POST', '/pool/p/revision/main/vacuum')).status).toBe(200);
    }
  })();
  const root = newFolder();
  for (let round = 0; round < 2; round++) {
    const to = join(root, String(round));
    mkdirSync(to);
    const before = loads;
    const { objects } = await cloneFolder(service.directory, to);
    const copy = await openLake({ directory: to, objects: openObjects(to), owner: 'test' });
    const { records, objects: held } = await copy.pool('p').sums('main');
    await copy.close();
    expect(records % rows).toBe(0);
    expect(records / rows).toBeGreaterThanOrEqual(before);
    expect(records / rows).toBeLessThanOrEqual(loads + 1);
    expect(objects).toBeGreaterThanOrEqual(held);
    const sound = await runProgram(['fsck', '-lake', to]);
    expect(sound.output, sound.complaint).toMatch(/\nsound\n$/);
    // Nothing is there that no row names.
    expect(sound.output).not.toContain('no commit names');
  }
  isOver = true;
  await churn;
});

test('a copy is refused in the lake itself, and leaves nothing behind where there is no lake', async () => {
  const service = await startService();
  onTestFinished(() => service.close());
  const within = join(service.directory, 'backup');
  expect((await runProgram(['clone', service.directory, within])).complaint).toBe(
    `${within} is in ${service.directory}: a lake is cloned into a folder or prefix of its own\n`,
  );
  expect(readdirSync(service.directory)).not.toContain('backup');
  const [from, to] = [newFolder(), join(newFolder(), 'copy')];
  expect((await runProgram(['clone', from, to])).status).toBe(1);
  expect(existsSync(to)).toBe(false);
});
