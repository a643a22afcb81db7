/** The Python client against the real service: values both ways, frames, files, events, errors, lost connections. */
import { execFile, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, connect, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lacksPython } from '../support/python.ts';
import { startService, type TestService } from '../support/service/server.ts';

const run = promisify(execFile);
const packageFolder = fileURLToPath(new URL('../../src/client/python', import.meta.url));
const script = fileURLToPath(new URL('python_client.py', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'lake-python-'));
/** A copy: what Python leaves beside its sources is none of the repository's. */
const copy = join(folder, 'client');
cpSync(packageFolder, copy, { recursive: true });
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const python = async (...args: readonly string[]): Promise<string> => {
  const env = { ...process.env, PYTHONPATH: copy, PYTHONDONTWRITEBYTECODE: '1' };
  const { stdout } = await run('python3', args, { env, cwd: folder, maxBuffer: 1 << 26 });
  return stdout;
};

describe.skipIf(lacksPython())('the client (python3)', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService(['-after.wait', '50ms']);
  });
  afterAll(() => service.close());
  const cases = [...readFileSync(script, 'utf8').matchAll(/^def test_(\w+)\(/gm)].map(([, name]) => name!);
  test.each(cases.filter((name) => !name.startsWith('frames')))('%s', async (name) => {
    expect(await python(script, service.url, name)).toBe('');
  });
  test.skipIf(lacksPython('pyarrow', 'pandas', 'polars')).each(cases.filter((name) => name.startsWith('frames')))(
    '%s',
    async (name) => {
      expect(await python(script, service.url, name)).toBe('');
    },
  );
  test('the example does what it says', async () => {
    expect(await python(join(copy, 'example.py'), service.url)).toBe("{'title': 'M', 'year': 1931}\n{'films': 1}\n");
  });
});

describe.skipIf(lacksPython())('lost connections', () => {
  let service: TestService;
  let proxy: Server;
  let address: string;
  /** What the proxy does with the next connections: passes them, or cuts them after so many bytes of the answer. */
  const cuts: (number | undefined)[] = [];
  beforeAll(async () => {
    service = await startService();
    const port = Number(new URL(service.url).port);
    proxy = createServer((client) => {
      const upstream: Socket = connect(port, '127.0.0.1');
      const end = (): void => {
        client.destroy();
        upstream.destroy();
      };
      client.on('error', end).on('close', end);
      upstream.on('error', end).on('close', end);
      client.pipe(upstream);
      const cut = cuts.shift();
      if (cut === undefined) {
        upstream.pipe(client);
        return;
      }
      let left = cut;
      upstream.on('data', (bytes: Buffer) => {
        client.write(bytes.subarray(0, left), () => {
          left -= bytes.length;
          if (left <= 0) end();
        });
      });
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(proxy.address() as { readonly port: number }).port}`;
  });
  afterAll(async () => {
    proxy.close();
    await service.close();
  });
  test('a write whose answer was lost is done once; a cut answer is an error', async () => {
    await service.ask('POST', '/pool', { body: '{name:"cut",layout:{keys:[["k"]]}}' });
    cuts.push(0, 0);
    const loads = `
import sys
from lake_data_service import connect, AnswerCut
lake = connect(sys.argv[1])
lake.pool("cut").branch().load([{"k": i, "text": "x" * 100} for i in range(5000)])
print(len(lake.query("from cut").rows()))
lake.close()
`;
    expect(await python('-c', loads, address)).toBe('5000\n');
    expect(await service.query('from cut | count()')).toBe('5000\n');
    cuts.push(200_000);
    const reads = `
import sys, http.client
from lake_data_service import connect, AnswerCut
try:
    lake = connect(sys.argv[1])
    lake.query("from cut").rows()
except (AnswerCut, http.client.HTTPException) as error:
    print("cut")
`;
    expect(await python('-c', reads, address)).toBe('cut\n');
  });
  test('events come once each over reconnects', async () => {
    const listens = `
import sys, threading
from lake_data_service import connect
lake = connect(sys.argv[1])
direct = connect(sys.argv[2])
events = lake.events()
seen = []
def listen():
    for event in events:
        seen.append(event.kind)
        if len(seen) == 12: return
thread = threading.Thread(target=listen)
thread.start()
import time
time.sleep(0.5)
for i in range(12):
    direct.create_pool(f"e{i}")
thread.join(150)
print(seen == ["pool-new"] * 12, len(seen))
`;
    // Each stream is cut after a few events.
    for (let i = 0; i < 6; i++) cuts.push(900);
    expect(await python('-c', listens, address, service.url)).toBe('True 12\n');
    cuts.length = 0;
  });
});

/**
 * What mypy knows of the library of Python and of the packages that the client imports: a run makes it for the next. It
 * throws away what was made with other options.
 */
const mypyCache = join(tmpdir(), 'lake-mypy-cache');
const mypy = (...what: readonly string[]): Promise<string> =>
  python(
    '-m',
    'mypy',
    '--strict',
    '--ignore-missing-imports',
    '--no-warn-unused-ignores',
    '--cache-dir',
    mypyCache,
    ...what,
  ).catch((error: unknown) => (error as { readonly stdout: string }).stdout);

describe.skipIf(lacksPython() || spawnSync('python3', ['-m', 'mypy', '--version']).status !== 0)(
  'mypy (pip install mypy)',
  () => {
    // Without its cache it reads the library of Python, which takes a busy machine some minutes.
    test('finds nothing, in the example neither', { timeout: 600_000 }, async () => {
      expect(await mypy('-p', 'lake_data_service')).toMatch(/^Success/);
      expect(await mypy(join(copy, 'example.py'))).toMatch(/^Success/);
    });
  },
);

const manualPage = fileURLToPath(new URL('../../visualize/docs/manual/python.md', import.meta.url));
describe.skipIf(lacksPython())('the manual', () => {
  test('has the reference that its docstrings make (UPDATE_README=1 renews it)', async () => {
    const reference = await python(fileURLToPath(new URL('python_reference.py', import.meta.url)));
    const page = readFileSync(manualPage, 'utf8');
    const [begin, end] = ['<!-- begin python reference -->\n', '<!-- end python reference -->'];
    const [before, after] = [page.slice(0, page.indexOf(begin) + begin.length), page.slice(page.indexOf(end))];
    const wanted = before + reference.trimEnd() + '\n' + after;
    if (process.env['UPDATE_README']) writeFileSync(manualPage, wanted);
    else expect(page).toBe(wanted);
  });
});

describe.skipIf(lacksPython('setuptools', 'wheel'))('pip', () => {
  test('installs it from the folder', async () => {
    const target = join(folder, 'installed');
    await run(
      'python3',
      ['-m', 'pip', 'install', '-q', '--no-deps', '--no-build-isolation', '--target', target, copy],
      {
        cwd: folder,
      },
    );
    const { stdout } = await run('python3', ['-c', 'import lake_data_service as l; print(l.__version__, l.__file__)'], {
      cwd: folder,
      env: { ...process.env, PYTHONPATH: target },
    });
    expect(stdout).toBe(`0.1.0 ${join(target, 'lake_data_service', '__init__.py')}\n`);
  });
});
