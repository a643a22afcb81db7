/**
 * Pictures of every page of the console, in both themes, on a phone and a desktop, over flights, films and mixed events.
 *
 *     npm run screenshots -- [-out FOLDER] [-only TEXT] [-events N] [-readme]
 *
 * `-readme` makes those of README.md alone, and puts them into visualize/screenshots.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { startBuiltService } from '../support/built-service.ts';
import { launchChromium } from '../support/chromium.ts';
import { makeLake } from './console-lake.ts';

const { values } = parseArgs({ args: process.argv.slice(2).map((arg) => (/^-[a-z]{2,}/.test(arg) ? `-${arg}` : arg)), options: { out: { type: 'string' }, only: { type: 'string', default: '' }, events: { type: 'string', default: '200000' }, readme: { type: 'boolean', default: false } } });

interface Look { readonly name: string; readonly width: number; readonly height: number; readonly dark: boolean; readonly scale: number }
const looks: readonly Look[] = [
  { name: 'desktop-light', width: 1440, height: 900, dark: false, scale: 1 }, { name: 'desktop-dark', width: 1440, height: 900, dark: true, scale: 1 },
  { name: 'phone-light', width: 390, height: 844, dark: false, scale: 2 }, { name: 'phone-dark', width: 390, height: 844, dark: true, scale: 2 },
  { name: 'wide-light', width: 3840, height: 2160, dark: false, scale: 1 },
];
interface Shot { readonly name: string; readonly hash: string; readonly show?: (page: Page) => Promise<void>; readonly looks?: readonly string[] }

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, ...(typeof name === 'string' && { exact: true }) });
const queryEnds = (page: Page): Promise<void> => page.locator('.run-status .pill').getByText('Done', { exact: true }).waitFor();
const shots: readonly Shot[] = [
  { name: 'pools', hash: '#/pools', show: async (page) => { await page.locator('.pools .records .number').filter({ hasText: /\d/ }).nth(2).waitFor(); } },
  { name: 'commits', hash: '#/pool/flights', show: async (page) => { await page.locator('.row').filter({ hasText: 'merged' }).first().click(); } },
  { name: 'objects', hash: '#/pool/flights', show: async (page) => { await page.getByRole('tab', { name: 'Data objects' }).click(); await page.locator('.row').first().waitFor(); } },
  { name: 'branches', hash: '#/pool/flights', show: async (page) => { await page.getByRole('tab', { name: /Branches/ }).click(); await page.getByRole('row').nth(2).waitFor(); } },
  { name: 'time-travel', hash: '#/pool/flights', show: async (page) => { await page.locator('.row').nth(5).click(); await button(page, 'Go to this point in time').click(); await page.locator('.banner').waitFor(); } },
  { name: 'merge', hash: '#/pool/flights', show: async (page) => { await button(page, 'Merge').click(); await page.locator('.effect').waitFor(); } },
  { name: 'delete-records', hash: '#/pool/movies', show: async (page) => { await button(page, 'Delete records').click(); await page.getByLabel('Where').fill('this["IMDB Rating"] < 3'); await page.getByText(/would go/).waitFor(); } },
  { name: 'revert', hash: '#/pool/flights', show: async (page) => { await page.locator('.row').nth(2).click(); await button(page, 'Revert').click(); await page.locator('.effect').waitFor(); } },
  { name: 'vacuum', hash: '#/pool/flights', show: async (page) => { await button(page, 'Vacuum').click(); await page.locator('dialog .effect').waitFor(); } },
  { name: 'new-pool', hash: '#/pools', show: async (page) => { await button(page, 'New pool').first().click(); await page.getByLabel('Name', { exact: true }).fill('weather'); } },
  { name: 'load-fault', hash: '#/pool/flights', show: async (page) => {
    await button(page, 'Load data').first().click();
    await page.setInputFiles('dialog input[type=file]', { name: 'flights.ndjson', mimeType: '', buffer: Buffer.from('{"date":"2001/04/02 08:10","delay":3,"distance":220}\n{"date":"2001/04/02 09:15","delay":-2,"distance":480}\n{"date":"2001/04/02 10:20","delay":,"distance":310}\n{"date":"2001/04/02 11:25","delay":14,"distance":95}\n') });
    await button(page, /^Load file/).click();
    await page.locator('.fault-place').waitFor();
  } },
  { name: 'load', hash: '#/pools', show: async (page) => {
    await button(page, 'New pool').first().waitFor();
    await page.evaluate(`(() => { const data = new DataTransfer(); data.items.add(new File(['[{"station":"Seattle","date":"2026-01-01","rain":0.2}]'], 'weather.json')); window.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })); })()`);
    await page.getByLabel('Name of the pool').waitFor();
  } },
  { name: 'events', hash: '#/events', show: async (page) => { await page.locator('.row').nth(8).waitFor(); } },
  { name: 'query', hash: '#/query?pool=movies', show: async (page) => { await queryEnds(page); } },
  { name: 'query-mixed', hash: `#/query?${new URLSearchParams({ text: 'from events\n| where status >= 400 or level == "error" or rtt > 250ms\n| head 100000' }).toString()}`, show: async (page) => {
    await queryEnds(page);
    await page.locator('[role=gridcell]').nth(20).click();
  } },
  { name: 'query-plot', hash: '#/query?pool=events', show: async (page) => {
    await queryEnds(page);
    await page.getByRole('tab', { name: 'Plot' }).click();
    await page.locator('.u-over').waitFor();
  } },
  { name: 'query-bars', hash: `#/query?${new URLSearchParams({ text: 'from movies\n| films:=count(), gross:=sum(this["US Gross"]) by genre:=this["Major Genre"]\n| sort -r films' }).toString()}`, show: async (page) => {
    await queryEnds(page);
    await page.getByRole('tab', { name: 'Plot' }).click();
  } },
];

/** By what they are called there. */
const readmeShots: ReadonlyMap<string, string> = new Map([['commits-desktop-light', 'commits'], ['query-mixed-desktop-dark', 'query'], ['merge-desktop-light', 'merge']]);

const withPage = async (browser: Browser, look: Look, work: (page: Page) => Promise<void>): Promise<void> => {
  const context = await browser.newContext({ viewport: { width: look.width, height: look.height }, colorScheme: look.dark ? 'dark' : 'light', deviceScaleFactor: look.scale, reducedMotion: 'reduce' }), page = await context.newPage();
  page.on('pageerror', (error) => { process.stderr.write(`${look.name}: ${String(error)}\n`); });
  page.on('console', (message) => { if (message.type() === 'error') process.stderr.write(`${look.name}: ${message.text()}\n`); });
  try { await work(page); } finally { await context.close(); }
};

const main = async (): Promise<void> => {
  const out = values.out ?? join(tmpdir(), 'lake-screenshots');
  mkdirSync(out, { recursive: true });
  const service = await startBuiltService(), browser = await launchChromium();
  try {
    const empty = looks.slice(0, 4);
    if ('empty'.includes(values.only) && !values.readme) for (const look of empty) await withPage(browser, look, async (page) => {
      await page.goto(`${service.address}/`);
      await page.getByText('There are no pools yet').waitFor();
      await page.screenshot({ path: join(out, `empty-${look.name}.png`) });
    });
    const lake = await makeLake(service.address, { events: Number(values.events) });
    for (const look of looks) {
      for (const shot of shots) {
        const name = `${shot.name}-${look.name}`;
        if (!name.includes(values.only) || (values.readme && !readmeShots.has(name))) continue;
        await withPage(browser, look, async (page) => {
          await page.goto(`${service.address}/${shot.hash}`);
          await page.getByText('Live', { exact: true }).waitFor();
          if (shot.name === 'events') {
            const pool = await lake.createPool(`visitors ${look.name}`), visitors = pool.branch('main');
            for (let i = 0; i < 6; i++) await visitors.insert([{ ts: new Date(), i }]);
            await pool.createBranch('tests', await visitors.tip());
            await lake.pool('events').branch('main').insert([{ ts: new Date(), kind: 'log', level: 'info', message: 'a visitor' }], { author: 'collector' });
            await pool.delete();
          }
          try { await shot.show?.(page); } catch (error) { process.stderr.write(`${name}: ${String(error).split('\n')[0]}\n`); }
          await page.screenshot({ path: join(out, `${name}.png`) });
        });
      }
    }
    if (values.readme) await forReadme(browser, out);
    process.stdout.write(`${out}\n`);
  } finally {
    await browser.close();
    await service.stop();
  }
};

/** The three of README.md, made small by the browser itself. */
const forReadme = async (browser: Browser, out: string): Promise<void> => {
  const folder = fileURLToPath(new URL('../../visualize/screenshots/', import.meta.url)), page = await browser.newPage();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [from, to] of readmeShots) {
    const source = `data:image/png;base64,${readFileSync(join(out, `${from}.png`)).toString('base64')}`;
    const webp = await page.evaluate(`(async () => {
      const image = new Image();
      image.src = ${JSON.stringify(source)};
      await image.decode();
      const canvas = document.createElement('canvas');
      [canvas.width, canvas.height] = [image.width, image.height];
      canvas.getContext('2d').drawImage(image, 0, 0);
      return canvas.toDataURL('image/webp', 0.82);
    })()`) as string;
    writeFileSync(join(folder, `${to}.webp`), Buffer.from(webp.split(',')[1]!, 'base64'));
  }
};

await main();
