/**
 * Pictures of every page, in both themes, on a phone, a desktop and a wide screen, over flights, films and mixed
 * events.
 *
 *     npm run screenshots -- [-out FOLDER] [-only TEXT] [-events N | -file NDJSON] [-readme] [-axe]
 *
 * `-only` takes a regular expression. `-file` gives the events in place of made ones. `-readme` makes those of
 * README.md alone, and puts them into visualize/screenshots. `-axe` says too what axe-core finds on each.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import type { Lake } from '../../src/client/client.ts';
import { startBuiltService } from '../support/service/built.ts';
import { launchChromium, seriousFindings } from '../support/chromium.ts';
import { makeLake } from './console-lake.ts';
import { shots } from './shots.ts';

const { values } = parseArgs({
  args: process.argv.slice(2).map((arg) => (/^-[a-z]{2,}/.test(arg) ? `-${arg}` : arg)),
  options: {
    out: { type: 'string' },
    only: { type: 'string', default: '' },
    events: { type: 'string', default: '200000' },
    file: { type: 'string' },
    readme: { type: 'boolean', default: false },
    axe: { type: 'boolean', default: false },
  },
});

interface Look {
  readonly name: string;
  readonly width: number;
  readonly height: number;
  readonly dark: boolean;
  readonly scale: number;
}
const looks: readonly Look[] = [
  { name: 'desktop-light', width: 1440, height: 900, dark: false, scale: 1 },
  { name: 'desktop-dark', width: 1440, height: 900, dark: true, scale: 1 },
  { name: 'phone-light', width: 390, height: 844, dark: false, scale: 2 },
  { name: 'phone-dark', width: 390, height: 844, dark: true, scale: 2 },
  { name: 'wide-light', width: 3840, height: 2160, dark: false, scale: 1 },
  { name: 'wide-dark', width: 3840, height: 2160, dark: true, scale: 1 },
];
/** By what they are called there. */
const readmeShots: ReadonlyMap<string, string> = new Map([
  ['commits-desktop-light', 'commits'],
  ['query-mixed-desktop-dark', 'query'],
  ['merge-desktop-light', 'merge'],
]);

const withPage = async (browser: Browser, look: Look, work: (page: Page) => Promise<void>): Promise<void> => {
  const context = await browser.newContext({
    viewport: { width: look.width, height: look.height },
    colorScheme: look.dark ? 'dark' : 'light',
    deviceScaleFactor: look.scale,
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  page.on('pageerror', (error) => {
    process.stderr.write(`${look.name}: ${String(error)}\n`);
  });
  page.on('console', (message) => {
    if (message.type() === 'error') process.stderr.write(`${look.name}: ${message.text()}\n`);
  });
  try {
    await work(page);
  } finally {
    await context.close();
  }
};

/** What goes on while the events page is looked at. */
const liven = async (lake: Lake, name: string): Promise<void> => {
  const pool = await lake.createPool(`visitors ${name}`);
  const visitors = pool.branch('main');
  for (let i = 0; i < 6; i++) await visitors.insert([{ ts: new Date(), i }]);
  await pool.createBranch('tests', await visitors.tip());
  await lake
    .pool('events')
    .branch('main')
    .insert([{ ts: new Date(), kind: 'log', level: 'info', message: 'a visitor' }], { author: 'collector' });
  await pool.delete();
};

const main = async (): Promise<void> => {
  const out = values.out ?? join(tmpdir(), 'lake-screenshots');
  const only = new RegExp(values.only);
  const chosen = (name: string): boolean => (values.readme ? readmeShots.has(name) : only.test(name));
  mkdirSync(out, { recursive: true });
  const complain = (name: string, text: unknown): void => {
    process.stderr.write(`${name}: ${String(text).split('\n')[0]}\n`);
  };
  const [service, guarded, browser] = await Promise.all([
    startBuiltService(),
    startBuiltService({ flags: ['-auth.keys'] }),
    launchChromium(),
  ]);
  const picture = async (page: Page, name: string): Promise<void> => {
    const wider = (await page.evaluate('document.documentElement.scrollWidth - innerWidth')) as number;
    if (wider > 0) complain(name, `wider than the screen by ${wider} px`);
    await page.screenshot({ path: join(out, `${name}.png`) });
    if (values.axe) for (const finding of await seriousFindings(page)) complain(name, finding);
  };
  try {
    for (const look of looks.filter(({ name }) => chosen(`empty-${name}`)))
      await withPage(browser, look, async (page) => {
        await page.goto(`${service.address}/`);
        await page.getByText('There are no pools yet').waitFor();
        await picture(page, `empty-${look.name}`);
      });
    const lake = await makeLake(
      service.address,
      values.file === undefined ? { events: Number(values.events) } : { file: values.file },
    );
    for (const look of looks) {
      for (const shot of shots) {
        const name = `${shot.name}-${look.name}`;
        if (!chosen(name)) continue;
        await withPage(browser, look, async (page) => {
          try {
            await page.goto(`${shot.guarded ? guarded.address : service.address}/${shot.path}`);
            if (shot.path.startsWith('#')) await page.getByText('Live', { exact: true }).waitFor();
            if (shot.name === 'events') await liven(lake, look.name);
            await shot.show(page);
          } catch (error) {
            complain(name, error);
          }
          await picture(page, name);
        });
      }
    }
    if (values.readme) await forReadme(browser, out);
    process.stdout.write(`${out}\n`);
  } finally {
    await browser.close();
    await Promise.all([service.stop(), guarded.stop()]);
  }
};

/** The three of README.md, made small by the browser itself. */
const forReadme = async (browser: Browser, out: string): Promise<void> => {
  const folder = fileURLToPath(new URL('../../visualize/screenshots/', import.meta.url));
  const page = await browser.newPage();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [from, to] of readmeShots) {
    const source = `data:image/png;base64,${readFileSync(join(out, `${from}.png`)).toString('base64')}`;
    const webp = (await page.evaluate(`(async () => {
      const image = new Image();
      image.src = ${JSON.stringify(source)};
      await image.decode();
      const canvas = document.createElement('canvas');
      [canvas.width, canvas.height] = [image.width, image.height];
      canvas.getContext('2d').drawImage(image, 0, 0);
      return canvas.toDataURL('image/webp', 0.82);
    })()`)) as string;
    writeFileSync(join(folder, `${to}.webp`), Buffer.from(webp.split(',')[1]!, 'base64'));
  }
};

await main();
