/** The program as the build leaves it: few files, with the code that the engine made of them (src/bundle). */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import * as nodeModule from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { engineFlags } from '../../src/engine-flags.ts';
import { program } from '../support/service/built.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'lake-bundle-'));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Prints of each script whether it came with kept code and that was taken, and where the service makes its folder. */
const hook = join(folder, 'hook.cjs');
writeFileSync(
  hook,
  `
const vm = require('node:vm'), fs = require('node:fs'), path = require('node:path'), { Script } = vm, { mkdirSync } = fs, { isMainThread } = require('node:worker_threads');
const told = (...words) => fs.writeSync(2, words.join(' ') + '\\n');
vm.Script = class extends Script {
  constructor(text, options) {
    super(text, options);
    told('script', isMainThread ? 'main' : 'worker', path.basename(options.filename), options.cachedData ? !this.cachedDataRejected : 'none');
  }
};
fs.mkdirSync = (...given) => {
  if (isMainThread) told('stack', JSON.stringify(new Error('where').stack));
  return mkdirSync(...given);
};
`,
);

let started = 0;
/** Starts the service of a program, on a lake of its own, with the hook in all threads and ends it; resolves to what the hook printed. */
const printedBy = async (main: string): Promise<readonly string[]> => {
  const child = spawn(
    process.execPath,
    [
      main,
      'serve',
      '-lake',
      join(folder, `lake-${++started}`),
      '-l',
      '127.0.0.1:0',
      '-workers',
      '1',
      '-warmup',
      '0s',
      '-log.level',
      'error',
    ],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NODE_OPTIONS: `--require ${JSON.stringify(hook)}` } },
  );
  let printed = '';
  let answered = '';
  child.stderr.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  const ended = once(child, 'exit');
  try {
    const address = await new Promise<string>((resolve, reject) => {
      child.stdout.on('data', (chunk: Buffer) => {
        const found = /http:\/\/127\.0\.0\.1:\d+/.exec((answered += chunk.toString()));
        if (found) resolve(found[0]);
      });
      void ended.then(() => {
        reject(new Error(printed));
      });
    });
    const answer = await fetch(`${address}/query`, {
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: JSON.stringify({ query: 'values 1' }),
    });
    expect(await answer.json()).toEqual([1]);
  } finally {
    child.kill();
  }
  expect((await ended)[0]).toBe(0);
  return printed.split('\n');
};

/** The file that most of the workers' code is in: the bundler names what two programs share. */
const largest = (): string => {
  const bundle = join(dirname(dirname(program)), 'bundle');
  const size = (name: string): number => statSync(join(bundle, name)).size;
  return readdirSync(bundle)
    .filter((name) => name.endsWith('.cjs') && existsSync(join(bundle, name.replace('.cjs', '.worker.code'))))
    .sort((a, b) => size(b) - size(a))[0]!;
};

const bundleFile = (name: string): string => join(dirname(dirname(program)), 'bundle', name);
const isBuiltHere = readFileSync(bundleFile('engine.txt'), 'latin1').startsWith(`${process.version} `);
/** A copy of the built program: its `dist`. */
const copied = (name: string): string => {
  const copy = join(folder, name);
  cpSync(dirname(dirname(program)), join(copy, 'dist'), { recursive: true });
  cpSync(join(root, 'package.json'), join(copy, 'package.json'));
  // What is installed may be read-only, and so are copies of it then.
  execFileSync('chmod', ['-R', 'u+w', copy]);
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return join(copy, 'dist');
};

// The suite's core runs on several versions of Node, all with what one of them has built.
if (isBuiltHere)
  describe('the code that was kept of the bundle', () => {
    test('is used on the main thread and in workers', async () => {
      const scripts = (await printedBy(program)).filter((line) => line.startsWith('script '));
      expect(scripts.filter((line) => !line.endsWith(' true'))).toEqual([]);
      expect(scripts).toEqual(
        expect.arrayContaining([
          'script main program.cjs true',
          'script main serve.cjs true',
          'script worker entry.cjs true',
          `script worker ${largest()} true`,
        ]),
      );
    });

    test('is not used for a file that was changed, and need not be there', async () => {
      const dist = copied('changed');
      const file = (name: string): string => join(dist, 'bundle', name);
      const text = readFileSync(file('serve.cjs'), 'utf8');
      expect(text).toContain('is served on');
      writeFileSync(file('serve.cjs'), text.replace('is served on', 'is SERVED on'));
      rmSync(file('entry.worker.code'));
      const scripts = (await printedBy(join(dist, 'src/main.js'))).filter(
        (line) => line.startsWith('script ') && !line.endsWith(' true'),
      );
      expect(scripts).toEqual(['script main serve.cjs none', 'script worker entry.cjs none']);
    });
  });

test('the engine of this Node knows each of its options: a start has nothing to complain of', () => {
  const { status, stderr } = spawnSync(process.execPath, [...engineFlags, '-e', ''], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(spawnSync(process.execPath, [program, 'help'], { encoding: 'utf8' }).stderr).toBe('');
});

describe('the bundle', () => {
  test('of another engine is read as Node does, with its own cache where it has one', async () => {
    const dist = copied('other');
    writeFileSync(join(dist, 'bundle/engine.txt'), 'v1.0.0 1');
    rmSync(join(dist, 'bundle/compile-cache'), { recursive: true, force: true });
    expect((await printedBy(join(dist, 'src/main.js'))).filter((line) => line.startsWith('script '))).toEqual([]);
    expect(existsSync(join(dist, 'bundle/compile-cache'))).toBe('enableCompileCache' in nodeModule);
  });

  test('names lines of the sources in stack traces', async () => {
    const text = readFileSync(join(root, 'src/commands/serve.ts'), 'utf8');
    const line = text.slice(0, text.indexOf('makeFolder(directory')).split('\n').length;
    const stacks = (await printedBy(program))
      .filter((l) => l.startsWith('stack '))
      .map((l) => JSON.parse(l.slice('stack '.length)) as string);
    const first = stacks.find((stack) => stack.includes('serveCommand'))!.split('\n');
    expect(first[0]).toBe('Error: where');
    expect(first.find((l) => l.includes('serveCommand'))).toMatch(
      new RegExp(`/?src/commands/serve\\.ts:${line} \\(serve\\.cjs:\\d+\\)\\)$`),
    );
  });

  test('has nothing but ASCII: one byte for each character in memory', () => {
    const text = readFileSync(join(dirname(dirname(program)), 'bundle', largest()));
    expect(text.every((byte) => byte < 128)).toBe(true);
    expect(existsSync(join(dirname(dirname(program)), 'bundle', `${largest()}.map`))).toBe(true);
  });
});
