/**
 * What a million rows cost the query page: `npm run bench:query-page -- --rows 1000000`. Time to the first row on the
 * screen, time to the last, frames while the table scrolls by the wheel and by jumps of its bar, memory of the page.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { connect } from '../../src/client/client.ts';
import { writeEvents } from '../bench/events.ts';
import { startBuiltService } from '../support/service/built.ts';
import { launchChromium } from '../support/chromium.ts';
import { median, ms, percentile, printFigures } from '../support/figures.ts';

interface PageFigures {
  readonly rows: number;
  readonly firstMs: readonly number[];
  readonly allMs: readonly number[];
  readonly wheelFramesMs: readonly number[];
  readonly jumpFramesMs: readonly number[];
  readonly heapBytes: number;
}

/** Clicks on Run; milliseconds until a row of the new answer is drawn, and until all rows are there. */
const run = (page: Page): Promise<readonly [number, number]> =>
  page.evaluate(`new Promise((resolve) => {
  const before = document.querySelector('#cell-0-1'), began = performance.now();
  let first;
  const look = () => {
    const cell = document.querySelector('#cell-0-1');
    if (first === undefined && cell && cell !== before) first = performance.now() - began;
    if (first !== undefined && /^(Done|Waiting|Failed)$/.test(document.querySelector('.run-status .pill').textContent)) resolve([first, performance.now() - began]);
    else requestAnimationFrame(look);
  };
  document.querySelector('button.run').click();
  requestAnimationFrame(look);
})`);
const frames = async (page: Page, during: () => Promise<unknown>): Promise<readonly number[]> => {
  await page.evaluate(
    '(() => { const all = window.frames = []; requestAnimationFrame(function next(t) { all.push(t); if (window.frames === all) requestAnimationFrame(next); }); })()',
  );
  await during();
  return page.evaluate(
    '(() => { const all = window.frames; window.frames = undefined; return all.slice(1).map((t, i) => t - all[i]); })()',
  );
};

const measurePage = async ({ rows, runs }: { readonly rows: number; readonly runs: number }): Promise<PageFigures> => {
  const folder = mkdtempSync(join(tmpdir(), 'query-page-'));
  const file = join(folder, 'events.ndjson');
  const service = await startBuiltService({ asShipped: true });
  const browser = await launchChromium();
  try {
    await writeEvents(file, rows);
    const pool = await connect(service.address).createPool('events', { keys: [['ts']] });
    await pool.branch('main').load(readFileSync(file), { format: 'json' });
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.goto(`${service.address}/#/query?text=from+events`);
    await page
      .locator('.run-status .pill')
      .getByText(/^(Done|Waiting|Failed)$/)
      .waitFor({ timeout: 120_000 });
    const times: (readonly [number, number])[] = [];
    for (let i = 0; i < runs; i++) times.push(await run(page));
    await page.mouse.move(700, 600);
    const wheelFramesMs = await frames(page, async () => {
      for (let i = 0; i < 100; i++) await page.mouse.wheel(0, 400);
    });
    const jumpFramesMs = await frames(page, () =>
      page.evaluate(`new Promise((done) => {
      const grid = document.querySelector('.grid');
      let i = 0;
      (function jump() { grid.scrollTop = (grid.scrollHeight - grid.clientHeight) * ((i * 37) % 101) / 100; if (++i < 150) requestAnimationFrame(jump); else done(); })();
    })`),
    );
    const session = await page.context().newCDPSession(page);
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize, backingStorageSize } = (await session.send('Runtime.getHeapUsage')) as {
      readonly usedSize: number;
      readonly backingStorageSize?: number;
    };
    return {
      rows,
      firstMs: times.map(([first]) => first),
      allMs: times.map(([, all]) => all),
      wheelFramesMs,
      jumpFramesMs,
      heapBytes: usedSize + (backingStorageSize ?? 0),
    };
  } finally {
    await browser.close();
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
};

const main = async (args: readonly string[]): Promise<void> => {
  const at = args.indexOf('--rows');
  const rows = at < 0 ? 1_000_000 : Number(args[at + 1]);
  const figures = await measurePage({ rows, runs: 5 });
  const frame = (times: readonly number[]): string =>
    `median ${ms(median(times))} p95 ${ms(percentile(times, 0.95))} longest ${ms(Math.max(...times))}`;
  printFigures(`${rows.toLocaleString('en')} rows`, {
    'first row': ms(median(figures.firstMs)),
    'slowest first row': ms(Math.max(...figures.firstMs)),
    'all rows': ms(median(figures.allMs)),
    'frames by the wheel': frame(figures.wheelFramesMs),
    'frames by jumps': frame(figures.jumpFramesMs),
    memory: `${Math.round(figures.heapBytes / 1e6)} MB`,
  });
};
if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
