/**
 * The package as npm would publish it, unpacked into a folder of its own with the packages that it depends on: it runs,
 * its client compiles in every kind of module, and it is small.
 */
import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { build } from 'vite';
import { commands } from '../../src/config/help.ts';
import { startBuiltService } from '../support/service/built.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'lake-package-'));
const installed = join(folder, 'node_modules', 'lake-data-service');
const megabyte = 1e6;
let packed: { readonly size: number; readonly files: readonly { readonly path: string }[] };

const sizeOf = (path: string): number =>
  statSync(path).isDirectory()
    ? readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
    : statSync(path).size;

beforeAll(async () => {
  // What `npm test` has built is packed as it is.
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: root,
    maxBuffer: 1 << 26,
  });
  const [found] = Object.values(JSON.parse(stdout) as readonly (typeof packed & { readonly filename: string })[]);
  packed = found!;
  await run('tar', ['-xzf', found!.filename], { cwd: folder });
  mkdirSync(dirname(installed));
  cpSync(join(folder, 'package'), installed, { recursive: true });
  rmSync(join(folder, 'package'), { recursive: true });
  // What npm would install with it.
  const listed = await run('npm', ['ls', '--omit=dev', '--all', '--parseable'], { cwd: root });
  for (const path of listed.stdout.trim().split('\n').slice(1))
    if (existsSync(path)) cpSync(path, join(folder, path.slice(root.length)), { recursive: true });
}, 180_000);
afterAll(async () => {
  // What came out of a folder that nobody may write to is such a one, too.
  await run('chmod', ['-R', 'u+w', folder]);
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

interface Bill {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly metadata: { readonly component: { readonly name: string } };
  readonly components: readonly {
    readonly group?: string;
    readonly name: string;
    readonly version: string;
    readonly purl: string;
  }[];
}

describe('the package', () => {
  test('has at most 3 MB, installed 60; nothing that is made for one version of Node, no maps, no sources', () => {
    expect(packed.size).toBeLessThan(3 * megabyte);
    expect(sizeOf(join(folder, 'node_modules'))).toBeLessThan(60 * megabyte);
    const strange = packed.files.map(({ path }) => path).filter((path) => /\.(map|code|ts)$|engine\.txt/.test(path));
    expect(strange.filter((path) => !/^dist\/src\/client\/\w+\.d\.ts$/.test(path))).toEqual([]);
  });
  test('is built with packages that take every version of Node that it takes', () => {
    const { satisfies } = createRequire(import.meta.url)('semver') as {
      readonly satisfies: (version: string, range: string) => boolean;
    };
    const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
      readonly packages: Readonly<
        Record<string, { readonly engines?: { readonly node?: string }; optional?: boolean }>
      >;
    };
    const refusing = Object.entries(packages).flatMap(([name, { engines, optional }]) =>
      ['20.19.0', '22.13.0', '24.0.0']
        .filter((version) => !optional && !satisfies(version, engines?.node ?? '*'))
        .map((version) => `${name} refuses Node ${version}`),
    );
    expect(refusing).toEqual([]);
  });
  test('says what it holds of others, with their licences', () => {
    const notices = readFileSync(join(installed, 'dist/bundle/THIRD-PARTY.md'), 'utf8');
    for (const name of ['fastify', 'xstate', 'hyparquet', 'pino', '@opentelemetry/sdk-trace-base'])
      expect(notices).toMatch(new RegExp(`^## ${name} - [\\d.]+ \\(`, 'm'));
    expect(readFileSync(join(installed, 'dist/visualize/THIRD-PARTY.md'), 'utf8')).toContain('## preact - ');
    expect(readFileSync(join(installed, 'dist/bundle/CHANGELOG.md'), 'utf8')).toContain('## 0.1.0');
  });
  test('lists what is inside for scanners, with versions that the notices name too', () => {
    for (const [part, names] of [
      ['bundle', ['fastify', 'xstate', 'hyparquet', 'pino']],
      ['visualize', ['preact', '@codemirror/view']],
    ] as const) {
      const bill = JSON.parse(readFileSync(join(installed, 'dist', part, 'sbom.cdx.json'), 'utf8')) as Bill;
      expect([bill.bomFormat, bill.specVersion, bill.metadata.component.name]).toEqual([
        'CycloneDX',
        '1.6',
        'lake-data-service',
      ]);
      const listed = bill.components.map(({ group, name }) => (group ? `${group}/${name}` : name));
      for (const name of names) expect(listed).toContain(name);
      const notices = readFileSync(join(installed, 'dist', part, 'THIRD-PARTY.md'), 'utf8');
      const noticed = [...notices.matchAll(/^## (\S+) - (\S+) \(/gm)].map(([, name, version]) => `${name}@${version}`);
      const versions = bill.components.map(({ version }, i) => `${listed[i]}@${version}`);
      expect(noticed.filter((name) => !versions.includes(name))).toEqual([]);
      expect(bill.components.every(({ purl }) => purl.startsWith('pkg:npm/'))).toBe(true);
    }
  });
  test('serves, loads, queries and shows its pages, as a command of the folder', async () => {
    const service = await startBuiltService({ program: join(installed, 'dist/src/main.js') });
    try {
      const ask = async (path: string, body?: string): Promise<string> =>
        (
          await fetch(service.address + path, body === undefined ? {} : { method: 'POST', body: Buffer.from(body) })
        ).text();
      await ask('/pool', '{name:"p",layout:{keys:[["a"]]}}');
      await ask('/pool/p/branch/main', '{a:1}{a:2}');
      expect(await ask('/query', '{query:"from p | sum(a)"}')).toBe('3\n');
      expect(await ask('/docs')).toContain('<!doctype html>');
    } finally {
      await service.stop();
    }
    const bin = join(
      installed,
      (JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as { bin: { lake: string } }).bin.lake,
    );
    expect((await run(process.execPath, [bin, '-version'])).stdout).toMatch(/v\d+\.\d+\.\d+/);
  });
  test('serves a user without rights from a folder that nobody writes to, with blanks and umlauts, under umask 077', async () => {
    const home = join(folder, 'Die Läke, schön');
    cpSync(join(folder, 'node_modules'), join(home, 'node_modules'), { recursive: true });
    const lake = join(folder, 'See ö');
    mkdirSync(lake);
    const isRoot = process.getuid?.() === 0;
    const nobody = 65_534;
    if (isRoot) chownSync(lake, nobody, nobody);
    chmodSync(folder, 0o755);
    await run('chmod', ['-R', 'a-w,a+rX', home]);
    const rights = isRoot ? [`setpriv --reuid=${nobody} --regid=${nobody} --clear-groups`] : [];
    const service = await startBuiltService({
      lake,
      by: ['sh', '-c', `umask 077; exec ${rights.join('')} "$@"`, 'sh', 'env', `HOME=${lake}`],
      program: join(home, 'node_modules/lake-data-service/dist/src/main.js'),
    });
    try {
      const ask = async (path: string, body: string): Promise<string> =>
        (await fetch(service.address + path, { method: 'POST', body: Buffer.from(body) })).text();
      await ask('/pool', '{name:"ö p",layout:{keys:[["a"]]}}');
      await ask('/pool/%C3%B6%20p/branch/main', '{a:1}{a:2}'.repeat(20_000));
      expect(await ask('/query', '{query:"from \'ö p\' | sum(a)"}')).toBe('60000\n');
      const shared = readdirSync(lake, { recursive: true, encoding: 'utf8' }).filter(
        (name) => ((statSync(join(lake, name), { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0,
      );
      expect(shared).toEqual([]);
      expect(await service.end()).toBe(0);
    } finally {
      service.process.kill('SIGKILL');
      await run('chmod', ['-R', 'u+w', home]);
      rmSync(home, { recursive: true });
    }
  });
  test('has a manual page that troff has nothing to say of', async () => {
    const page = readFileSync(join(installed, 'dist/bundle/lake.1'), 'utf8');
    for (const { name, options } of commands) {
      expect(page).toContain(`.SS "lake ${name}`);
      for (const option of options) expect(page).toContain(`.B \\-${option.name.replaceAll('-', '\\-')}`);
    }
    if (!existsSync('/usr/bin/groff')) return;
    const { stderr } = await run('groff', ['-man', '-Tutf8', '-ww', '-z', join(installed, 'dist/bundle/lake.1')]);
    expect(stderr).toBe('');
  });
});

describe('the client of the package', () => {
  const example = `
import { connect, LakeFailure, type Committed, type LakeValue } from 'lake-data-service/client';
export const work = async (): Promise<LakeValue[]> => {
  const lake = connect('http://localhost:9867', { token: 'key' });
  const pool = await lake.createPool('events', { keys: [['ts']] });
  const done: Committed = await pool.branch('main').insert([{ ts: new Date(), kind: 'http' }]);
  try {
    return await lake.query('from events').all();
  } catch (error) {
    if (error instanceof LakeFailure && error.status === 404) return [done.commit];
    throw error;
  }
};
`;
  test.each([
    ['nodenext', 'nodenext', 'mts'],
    ['node16', 'node16', 'mts'],
    ['esnext', 'bundler', 'ts'],
    ['preserve', 'bundler', 'ts'],
  ])('compiles with module %s and resolution %s', async (module, resolution, ending) => {
    writeFileSync(join(folder, `example.${ending}`), example);
    const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));
    const options = [
      '--strict',
      '--noEmit',
      '--skipLibCheck',
      'false',
      '--target',
      'es2022',
      '--lib',
      'es2022,dom,dom.asynciterable',
    ];
    const { stdout } = await run(
      process.execPath,
      [tsc, ...options, '--types', '', '--module', module, '--moduleResolution', resolution, `example.${ending}`],
      { cwd: folder },
    ).catch((error: unknown) => error as { readonly stdout: string });
    expect(stdout).toBe('');
  });
  test('is bundled for a page by vite', async () => {
    writeFileSync(join(folder, 'page.ts'), example);
    const built = await build({
      configFile: false,
      root: folder,
      logLevel: 'silent',
      build: { write: false, lib: { entry: join(folder, 'page.ts'), formats: ['es'], fileName: 'page' } },
    });
    const [one] = (Array.isArray(built) ? built : [built]) as readonly {
      readonly output: readonly { readonly code: string }[];
    }[];
    expect(one!.output).toHaveLength(1);
    expect(one!.output[0]!.code).toContain('createPool');
  });
});
