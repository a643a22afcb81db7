/**
 * The files in .deploy: the container's build steps and the unit. `DEPLOY=1` runs the build steps in a clean folder,
 * with packages from the registry, and starts what comes out; with a Docker daemon it builds the image as well.
 */
import { describe, expect, test } from 'vitest';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { isOursToFix } from '../../src/allocator.ts';
import { parseServe } from '../../src/config/serve.ts';
import { serveOptions } from '../../src/config/tables.ts';

/** Whether this machine has the C library that all this is about. */
const isGlibc =
  process.platform === 'linux' && 'glibcVersionRuntime' in (process.report.getReport() as { header: object }).header;
const repository = fileURLToPath(new URL('../../', import.meta.url));
const path = (name: string): string => join(repository, '.deploy', name);

interface Step {
  readonly verb: string;
  readonly text: string;
}
interface Stage {
  readonly from: string;
  readonly name: string | undefined;
  readonly steps: readonly Step[];
}
/** The stages of a Dockerfile in its plain form: no continued lines, no heredocs. */
const stagesOf = (text: string): readonly Stage[] => {
  const stages: { from: string; name: string | undefined; steps: Step[] }[] = [];
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [, verb = '', rest = ''] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    expect(line).toMatch(/^[A-Z]+ .*[^\\]$/);
    if (verb === 'FROM') {
      const [from = '', , name] = rest.split(' ');
      stages.push({ from, name, steps: [] });
    } else stages.at(-1)!.steps.push({ verb, text: rest });
  }
  return stages;
};
const stages = stagesOf(readFileSync(path('Dockerfile'), 'utf8'));
const [build, final] = stages as [Stage, Stage];
const of = (stage: Stage, verb: string): readonly string[] =>
  stage.steps.filter((step) => step.verb === verb).map(({ text }) => text);

describe('the container', () => {
  test('is built in one stage and runs in another, as nobody special, with a health check and the lake on a volume', () => {
    expect(stages.map(({ from, name }) => [from, name])).toEqual([
      ['node:24-slim', 'build'],
      ['node:24-slim', undefined],
    ]);
    expect([of(final, 'USER'), of(final, 'VOLUME'), of(final, 'EXPOSE'), of(final, 'STOPSIGNAL')]).toEqual([
      ['1000:1000'],
      ['/lake'],
      ['9867'],
      ['SIGTERM'],
    ]);
    expect(of(final, 'HEALTHCHECK')[0]).toContain('/ready');
    // What makes the lake's folder runs as root, so it comes before.
    const verbs = final.steps.map(({ verb }) => verb);
    expect(verbs.lastIndexOf('RUN')).toBeLessThan(verbs.indexOf('USER'));
  });
  test('copies what is there, and what is ignored is not among it', () => {
    const ignore = readFileSync(path('Dockerfile.dockerignore'), 'utf8')
      .split('\n')
      .filter((line) => line !== '');
    expect(ignore[0]).toBe('*');
    const sources = of(build, 'COPY').flatMap((text) => text.split(' ').slice(0, -1));
    expect([...sources].sort()).toEqual(
      ignore
        .slice(1)
        .map((line) => line.slice(1))
        .sort(),
    );
    for (const source of sources) expect([source, existsSync(join(repository, source))]).toEqual([source, true]);
  });
  test('serves with access control, by options that there are', () => {
    const argv = JSON.parse(of(final, 'CMD')[0]!) as readonly string[];
    const entry = JSON.parse(of(final, 'ENTRYPOINT')[0]!) as readonly string[];
    expect(entry).toEqual([
      'node',
      (
        JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
          readonly bin: { readonly lake: string };
        }
      ).bin.lake,
    ]);
    expect(argv[0]).toBe('serve');
    expect(parseServe(argv.slice(1))).toMatchObject({
      lakeDirectory: '/lake',
      listen: [{ kind: 'tcp', host: '0.0.0.0', port: 9867 }],
      auth: { keys: true },
    });
  });
  test('the health check ends with 0 where work is taken, else with 1', async () => {
    const [command, ...args] = JSON.parse(/CMD (\[.*\])$/.exec(of(final, 'HEALTHCHECK')[0]!)![1]!) as readonly string[];
    expect(command).toBe('node');
    const script = args[1]!;
    for (const [status, end] of [
      [200, 0],
      [503, 1],
      [undefined, 1],
    ] as const) {
      const server = (await import('node:http'))
        .createServer((request, response) => {
          response.writeHead(request.url === '/ready' ? status! : 404).end();
        })
        .listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as { readonly port: number };
      if (status === undefined)
        await new Promise((resolve) => {
          server.close(resolve);
        });
      const child = spawn(process.execPath, ['-e', script.replace('9867', String(port))]);
      expect([status, (await once(child, 'exit'))[0]]).toEqual([status, end]);
      server.close();
    }
  });

  const isFull = process.env['DEPLOY'] === '1';
  test.skipIf(!isFull)(
    'its build steps work in a clean folder, and what comes out serves',
    { timeout: 600_000 },
    async () => {
      const root = mkdtempSync(join(tmpdir(), 'lake-deploy-'));
      const app = join(root, 'app');
      const out = join(root, 'out');
      try {
        mkdirSync(app);
        // No settings of who runs the test.
        const environment = {
          PATH: process.env['PATH']!,
          HOME: root,
          ...(process.env['npm_config_registry'] && { npm_config_registry: process.env['npm_config_registry'] }),
        };
        for (const { verb, text } of build.steps) {
          if (verb === 'COPY') {
            const names = text.split(' ');
            for (const name of names.slice(0, -1))
              cpSync(join(repository, name), join(app, names.length === 2 ? names.at(-1)! : name), { recursive: true });
          } else if (verb === 'RUN') execFileSync('sh', ['-c', text], { cwd: app, env: environment, stdio: 'pipe' });
        }
        mkdirSync(out);
        for (const text of of(final, 'COPY')) {
          const [, source = '', target = ''] = text.split(' ');
          cpSync(join(root, source), join(out, target === './' ? source.split('/').at(-1)! : target), {
            recursive: true,
            verbatimSymlinks: true,
          });
        }
        expect(existsSync(join(out, 'node_modules/typescript'))).toBe(false);
        const child = spawn(
          process.execPath,
          ['dist/src/main.js', 'serve', '-lake', join(root, 'lake'), '-l', '127.0.0.1:0', '-warmup', '0s'],
          { cwd: out, env: environment },
        );
        const address = await new Promise<string>((resolve) => {
          child.stdout.on('data', (chunk: Buffer) => {
            const found = /http:\/\/127\.0\.0\.1:\d+/.exec(chunk.toString());
            if (found) resolve(found[0]);
          });
        });
        expect(await (await fetch(`${address}/ready`)).text()).toBe('ready');
        expect((await fetch(`${address}/inspect`)).status).toBe(200);
        child.kill('SIGTERM');
        expect((await once(child, 'exit'))[0]).toBe(0);
      } finally {
        rmSync(root, { recursive: true, force: true });
      }
    },
  );
  const hasDocker = isFull && spawnSync('docker', ['info']).status === 0;
  test.skipIf(!hasDocker)('the image is built and becomes healthy', { timeout: 600_000 }, () => {
    execFileSync('docker', ['build', '-q', '-t', 'lake-deploy-test', '-f', path('Dockerfile'), repository]);
    const id = execFileSync('docker', ['run', '-d', 'lake-deploy-test'], { encoding: 'utf8' }).trim();
    try {
      const health = (): string =>
        execFileSync('docker', ['inspect', '-f', '{{.State.Health.Status}}', id], { encoding: 'utf8' }).trim();
      for (let i = 0; i < 60 && health() === 'starting'; i++) spawnSync('sleep', ['1']);
      expect(health()).toBe('healthy');
    } finally {
      execFileSync('docker', ['rm', '-f', id]);
    }
  });
});

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly build?: { readonly context: string; readonly dockerfile: string };
        readonly command?: readonly string[];
        readonly environment?: Readonly<Record<string, string>>;
        readonly ports?: readonly string[];
        readonly volumes?: readonly string[];
        readonly depends_on?: Readonly<Record<string, object>>;
      }
    >
  >;
  readonly volumes: Readonly<Record<string, null>>;
}
/** Metrics by name, as the manual lists them and as Prometheus derives from them. */
const metricNames = (): ReadonlySet<string> => {
  const manual = readFileSync(join(repository, 'visualize/docs/manual/operations.md'), 'utf8');
  const table = manual.slice(manual.indexOf('<!-- begin metrics -->'), manual.indexOf('<!-- end metrics -->'));
  const names = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name!);
  return new Set([...names, ...names.map((name) => `${name}_bucket`), 'process_resident_memory_bytes']);
};
describe('the compose file', () => {
  const compose = parse(readFileSync(path('compose.yaml'), 'utf8')) as Compose;
  const { services } = compose;

  test('serves a lake in the bucket beside it, by options that there are, to this machine alone', () => {
    const { build, command = [], environment } = services['lake']!;
    expect(existsSync(join(repository, '.deploy', build!.context, build!.dockerfile))).toBe(true);
    expect(command[0]).toBe('serve');
    expect(parseServe(command.slice(1))).toMatchObject({
      lakeDirectory: '/lake',
      listen: [{ kind: 'tcp', host: '0.0.0.0', port: 9867 }],
      insecure: true,
      store: { bucket: 'lakes', prefix: 'main/', endpoint: 'http://bucket:9000', ack: 'local' },
    });
    expect([environment!['AWS_ACCESS_KEY_ID'], environment!['AWS_SECRET_ACCESS_KEY']]).toEqual([
      services['bucket']!.environment!['MINIO_ROOT_USER'],
      services['bucket']!.environment!['MINIO_ROOT_PASSWORD'],
    ]);
    for (const [name, { ports = [] }] of Object.entries(services))
      for (const port of ports) expect([name, port]).toEqual([name, expect.stringMatching(/^127\.0\.0\.1:\d+:\d+$/)]);
  });
  test('names services, volumes and files that there are', () => {
    for (const { depends_on = {}, volumes = [] } of Object.values(services)) {
      for (const other of Object.keys(depends_on)) expect(services).toHaveProperty(other);
      for (const volume of volumes) {
        const [source = ''] = volume.split(':');
        if (source.startsWith('.'))
          expect([source, existsSync(join(repository, '.deploy', source))]).toEqual([source, true]);
        else expect(compose.volumes).toHaveProperty(source);
      }
    }
  });
  test.each(['alerts.yaml', 'lake.json'])('%s asks for metrics that there are', (name) => {
    const text = readFileSync(path(`observe/${name}`), 'utf8');
    const asked = new Set(text.match(/\b(lake|process)_\w+/g));
    expect(asked.size).toBeGreaterThan(5);
    const known = metricNames();
    expect([...asked].filter((metric) => !known.has(metric))).toEqual([]);
  });
});

describe('the unit', () => {
  const text = readFileSync(path('lake.service'), 'utf8');
  const values = (name: string): readonly string[] =>
    text
      .split('\n')
      .filter((line) => line.startsWith(`${name}=`))
      .map((line) => line.slice(name.length + 1));
  test('runs the program with options from the environment, and waits longer than the program takes to end', () => {
    expect(values('ExecStart')).toEqual(['/usr/local/bin/lake serve']);
    const environment = Object.fromEntries(
      values('Environment')
        .flatMap((line) => line.split(' '))
        .map((pair) => pair.split('=') as [string, string]),
    );
    expect(parseServe([], environment)).toMatchObject({ lakeDirectory: `/var/lib/${values('StateDirectory')[0]}` });
    const grace = serveOptions.find(({ name }) => name === 'shutdown.grace')!.fallback;
    expect(grace).toBe('5s');
    expect(Number.parseInt(values('TimeoutStopSec')[0]!, 10)).toBeGreaterThan(10);
  });
  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
  test.skipIf(!hasSystemd)('systemd finds nothing wrong with it', () => {
    const folder = mkdtempSync(join(tmpdir(), 'lake-unit-'));
    const program = join(folder, 'lake');
    const unit = join(folder, 'lake.service');
    try {
      writeFileSync(program, '#!/bin/sh\n');
      chmodSync(program, 0o755);
      writeFileSync(unit, text.replace('/usr/local/bin/lake', JSON.stringify(program)));
      writeFileSync(join(folder, 'lake.socket'), readFileSync(path('lake.socket')));
      const units = [unit, join(folder, 'lake.socket')];
      const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...units], {
        encoding: 'utf8',
      });
      expect([
        status,
        stdout,
        stderr
          .split('\n')
          .filter((line) => line.includes('lake'))
          .join('\n'),
      ]).toEqual([0, '', '']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
  test.skipIf(!hasSystemd)('is exposed by less than 2 of 10', () => {
    const { stdout } = spawnSync('systemd-analyze', ['security', '--offline=true', path('lake.service')], {
      encoding: 'utf8',
    });
    expect(Number(/Overall exposure level for lake\.service: ([\d.]+)/.exec(stdout)?.[1])).toBeLessThan(2);
  });
});

describe('the allocator of a service', () => {
  const begun = { argv: ['node', '/lake/main.js', 'serve'], env: { PATH: '/bin' }, platform: 'linux' } as const;
  const withArgv = (...argv: string[]) => ({ ...begun, argv });
  test('is fixed only where nobody else has said how memory is to be got', () => {
    expect(isOursToFix(withArgv(...begun.argv))).toBe(true);
    expect(isOursToFix({ ...withArgv(...begun.argv), env: { GLIBC_TUNABLES: 'glibc.malloc.trim_threshold=1' } })).toBe(
      false,
    );
    expect(isOursToFix({ ...withArgv(...begun.argv), platform: 'darwin' })).toBe(false);
    expect(isOursToFix(withArgv('node', '/lake/main.js', 'query'))).toBe(false);
  });
  // Buffers of many sizes that die in another order than they came. What stays without it depends on the moment.
  test.skipIf(!isGlibc).each([
    ['gives freed buffers back', ['fixThreshold()'], 'gc()'],
    ['gives back those that it kept', ['keepFreed(true)'], 'gc(); await giveBackPages()'],
    ['gives them back again near to the bound', ['keepFreed(true)', 'keepFreed(false)'], 'gc()'],
  ])('%s', (_, calls, end) => {
    const text = `
      import { fixThreshold, giveBackPages, keepFreed } from ${JSON.stringify(new URL('../../dist/src/allocator.js', import.meta.url).href)};
      for (const done of [${calls.join(', ')}]) if (!done) throw new Error('the threshold was not fixed');
      let held = [];
      let peak = 0;
      for (let round = 0; round < 10; round++) {
        for (let i = 0; i < 40; i++) held.push(new Uint8Array((1 + ((i * 7919) % 60)) << 17).fill(1));
        peak = Math.max(peak, process.memoryUsage.rss());
        held = held.filter((_, i) => i % 9 !== 0 && i % 3 !== 0);
        gc();
      }
      held = [];
      gc();
      ${end};
      console.log(JSON.stringify([process.memoryUsage.rss(), peak]));`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--expose-gc', '--input-type=module', '-e', text], {
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    const [left, peak] = JSON.parse(stdout) as [number, number];
    expect(left).toBeLessThan(peak / 4);
  });
});
