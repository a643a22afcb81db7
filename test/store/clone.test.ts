/** Copies of a lake's folder while its service compacts and vacuums: a backup that need not wait for a quiet minute. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openLake } from '../../src/lake/lake.ts';
import { objectPath, openObjects } from '../../src/lake/objects/objects.ts';
import { cloneFolder } from '../../src/lake/store/clone.ts';
import { program } from '../support/service/built.ts';
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
  const file = join(newFolder(), 'file');
  writeFileSync(file, '');
  expect(await runProgram(['clone', service.directory, file])).toMatchObject({
    status: 2,
    complaint: `${file} is no folder: a lake is cloned into one of its own\n`,
  });
  const [from, to] = [newFolder(), join(newFolder(), 'copy')];
  expect((await runProgram(['clone', from, to])).status).toBe(1);
  expect(existsSync(to)).toBe(false);
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'what %s ends in the middle leaves nothing behind',
  async (signal) => {
    const service = await startService();
    onTestFinished(() => service.close());
    await service.ask('POST', '/pool', { body: '{"name":"p"}' });
    // A file that nobody writes into: the copy waits at it.
    const endless = objectPath(service.directory, 'f'.repeat(40));
    mkdirSync(dirname(endless), { recursive: true });
    execFileSync('mkfifo', [endless]);
    const above = newFolder();
    const [made, there] = [join(above, 'days', 'copy'), newFolder()];
    for (const to of [made, there]) {
      const child = spawn(process.execPath, [program, 'clone', service.directory, to], { stdio: 'ignore' });
      const ended = new Promise((resolve) => child.on('close', (status, by) => resolve(by ?? status)));
      await vi.waitFor(() => expect(existsSync(dirname(objectPath(to, 'f'.repeat(40))))).toBe(true), 20_000);
      child.kill(signal);
      expect(await ended).toBe(signal);
    }
    expect([readdirSync(above), readdirSync(there)]).toEqual([[], []]);
  },
);

test('a copy that fails leaves the folder that was there empty', async () => {
  const service = await startService();
  onTestFinished(() => service.close());
  await service.ask('POST', '/pool', { body: '{"name":"p"}' });
  // No file can be copied from here.
  mkdirSync(objectPath(service.directory, 'f'.repeat(40)), { recursive: true });
  const above = newFolder();
  const [made, there] = [join(above, 'days', 'copy'), newFolder()];
  for (const to of [made, there]) expect((await runProgram(['clone', service.directory, to])).status).toBe(1);
  expect([readdirSync(above), readdirSync(there)]).toEqual([[], []]);
});
