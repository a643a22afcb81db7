/** The client package in a browser, bundled as users bundle it: no Node modules, little to carry, the same values. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { lacksChromium, type SharedBrowser, sharedChromium } from '../support/chromium.ts';
import { startService, type TestService } from '../support/service/server.ts';

const source = (name: string): string => fileURLToPath(new URL(`../../src/client/${name}.ts`, import.meta.url));
/** An entry of the package, and what it imports, as one module. */
const bundled = async (entry = source('client')): Promise<string> => {
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    build: { write: false, minify: true, lib: { entry, formats: ['es'], fileName: 'client' } },
  });
  const outputs = (Array.isArray(built) ? built : [built]).flatMap((each) => ('output' in each ? each.output : []));
  expect(outputs).toHaveLength(1);
  const [chunk] = outputs;
  return chunk!.type === 'chunk' ? chunk!.code : '';
};

test('the bundle is under 9 KiB compressed and imports nothing', async () => {
  const code = await bundled();
  expect(code).not.toMatch(/\bimport\b|\brequire\b/);
  expect(gzipSync(code).length).toBeLessThan(9 << 10);
});

test.skipIf(lacksChromium())(
  'a page loads, queries, reads Arrow and follows events',
  { timeout: 180_000 },
  async () => {
    const page = await browser.newPage();
    for (const [name, code] of Object.entries({ client: await bundled(), arrow: await bundled(source('arrow')) }))
      await page.route(`**/${name}-under-test.js`, (route) =>
        route.fulfill({ body: code, contentType: 'text/javascript' }),
      );
    await page.goto(`${service.url}/version`);
    const seen = await page.evaluate(`(async () => {
    const { connect, Time, LakeFailure } = await import('/client-under-test.js');
    const lake = connect(location.origin), pool = await lake.createPool('from a page', { keys: [['k']] });
    const stop = new AbortController(), events = lake.events({ signal: stop.signal });
    const first = events.next();
    const main = pool.branch('main');
    await main.insert([{ k: 1, at: new Date(0), big: 2n ** 62n }]);
    await main.load(new Blob(['{"k":2}\\n']), { format: 'json' });
    await main.load(new Blob(['{"k":', '3}']).stream());
    const rows = [];
    for await (const row of lake.query('from "from a page" | sort k')) rows.push([typeof row.k, String(row.k), row.at instanceof Time ? String(row.at) : '-', String(row.big)]);
    const arrow = (await new Response(await lake.query('from "from a page" | cut k').arrow()).arrayBuffer()).byteLength > 100;
    const { tableOf } = await import('/arrow-under-test.js');
    const table = (await tableOf(lake.query('from "from a page" | sort k | cut k'))).getChild('k').toArray().join();
    const failure = await lake.pool('none').branch('main').tip().catch((error) => error instanceof LakeFailure && error.status);
    const { value } = await first;
    stop.abort();
    return { rows, arrow, table, failure, event: value.kind };
  })()`);
    expect(seen).toEqual({
      rows: [
        ['bigint', '1', '1970-01-01T00:00:00Z', '4611686018427387904'],
        ['bigint', '2', '-', 'undefined'],
        ['bigint', '3', '-', 'undefined'],
      ],
      arrow: true,
      table: '1,2,3',
      failure: 404,
      event: expect.stringMatching(/^pool-/),
    });
    await page.close();
  },
);

let service: TestService;
let browser: SharedBrowser;
beforeAll(async () => {
  service = await startService();
  if (!lacksChromium()) browser = await sharedChromium();
});
afterAll(async () => {
  await browser?.close();
  await service.close();
});
