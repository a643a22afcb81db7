/**
 * What a build does last: it starts the new program on an empty lake, has it do a bit of everything that first clients
 * ask for, and lets its threads write down what is compiled by then (load.ts).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Code of functions that few runs need would be read at each start: so these are few. */
const queries = [
  'from kept | count()',
  'from kept | count() by kind',
  'from kept | head 1',
  'from kept | n > 10 | sort n | put m := n + 1',
  'from :pools',
];
const rows = Array.from({ length: 100 }, (_, n) =>
  JSON.stringify({
    ts: `2026-01-01T00:00:${String(n % 60).padStart(2, '0')}Z`,
    kind: n % 2 ? 'odd' : 'even',
    n,
    x: n / 4,
    tags: ['a'],
    of: { id: n },
  }),
).join('\n');

/** @throws when the program does not start, does not answer or does not keep its code. */
export const keepCode = async (program: string): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'lake-keep-code-'));
  const child = spawn(
    process.execPath,
    [
      program,
      'serve',
      '-lake',
      join(folder, 'lake'),
      '-l',
      '127.0.0.1:0',
      '-workers',
      '1',
      '-warmup',
      '0s',
      '-log.level',
      'error',
    ],
    {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      env: { ...process.env, NODE_OPTIONS: '', LAKE_KEEP_CODE: '1' },
    },
  );
  try {
    await Promise.race([
      askAndKeep(child),
      once(child, 'exit').then(([status]) => {
        throw new Error(`the built program ended with ${String(status)}`);
      }),
    ]);
  } finally {
    if (child.exitCode === null && child.kill()) await once(child, 'exit');
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  }
};

const askAndKeep = async (child: ChildProcess): Promise<void> => {
  const address = await new Promise<string>((resolve) => {
    let printed = '';
    child.stdout!.on('data', (chunk: Buffer) => {
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec((printed += chunk.toString()));
      if (found) resolve(found[0]);
    });
  });
  const ask = async (path: string, body?: string): Promise<void> => {
    const answer = await fetch(`${address}${path}`, {
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      ...(body !== undefined && { method: 'POST', body }),
    });
    if (!answer.ok) throw new Error(`the built program answers ${path} with ${answer.status}: ${await answer.text()}`);
    await answer.arrayBuffer();
  };
  await ask('/ready');
  await ask('/pool', '{"name":"kept","layout":{"order":"asc","keys":[["ts"]]}}');
  await ask('/pool/kept/branch/main', rows);
  for (const query of queries) await ask('/query', JSON.stringify({ query }));
  // The main thread and the one worker.
  await new Promise<void>((resolve) => {
    let kept = 0;
    child.on('message', () => {
      if (++kept === 2) resolve();
    });
    child.send('keep');
  });
};
