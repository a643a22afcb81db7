/** The manual and the API in a real browser against the real service, and what they ask for of any other origin. */
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readFileSync } from 'node:fs';
import { contentsOf } from '../../visualize/docs/markdown.ts';
import { routes } from '../../src/http/routes/routes.ts';
import { type Service, startBuiltService } from '../support/service/built.ts';
import {
  faultsOf,
  lacksChromium,
  newPageOf,
  seriousFindings,
  type SharedBrowser,
  sharedChromium,
} from '../support/chromium.ts';
import { clientOf } from '../support/service/client.ts';
import { seedOf } from '../support/random.ts';

describe.skipIf(lacksChromium())('the manual', () => {
  let service: Service;
  let browser: SharedBrowser;
  let context: BrowserContext;
  beforeAll(async () => {
    service = await startBuiltService();
    const client = clientOf(service.address, 1);
    await client.createPool('movies');
    await client.load('movies', [{ k: 1 }]);
    client.close();
    browser = await sharedChromium();
    context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
  });

  const open = async ({
    width = 1280,
    height = 900,
    dark = false,
    hash = '#api',
  } = {}): Promise<{
    readonly page: Page;
    readonly faults: readonly string[];
    readonly elsewhere: readonly string[];
  }> => {
    const page = await newPageOf(context, { width, height, dark });
    const faults = faultsOf(page);
    const elsewhere: string[] = [];
    // To hold requests up would turn the browser's cache off.
    page.on('request', (request) => {
      if (!request.url().startsWith(`${service.address}/`)) elsewhere.push(request.url());
    });
    await page.goto(`${service.address}/docs${hash}`);
    await page.getByRole('heading', { level: 1, name: 'Manual' }).waitFor();
    return { page, faults, elsewhere };
  };
  const close = (page: Page): Promise<void> => page.close();

  describe('the API', () => {
    // One page, which takes more than a second to draw; each test leaves it as it was.
    let api: Awaited<ReturnType<typeof open>>;
    beforeAll(async () => {
      api = await open();
    });

    test('every endpoint is there, with its answers, and nothing is loaded from elsewhere', async () => {
      const { page, faults, elsewhere } = api;
      await expect
        .poll(() =>
          page.evaluate(
            '[...document.querySelectorAll("main article.endpoint .method")].map((e) => e.closest("article").id).sort()',
          ),
        )
        .toEqual(routes.map((row) => row.id).sort());
      const load = page.locator('#load');
      await load.getByText('Parameters').first().click();
      await load.getByRole('row', { name: /csv\.delim.*field delimiter/ }).waitFor();
      await load.locator('details.answer', { hasText: '412' }).locator('summary').click();
      await load.getByText('If-Match does not match: the branch is at {tip}').waitFor();
      await page.locator('#events').getByText('Events', { exact: false }).first().click();
      await page.locator('#events').getByText('branch-delete').first().waitFor();
      expect({ faults, elsewhere }).toEqual({ faults: [], elsewhere: [] });
    });

    test('a search finds endpoints by their words and by their errors', async () => {
      const { page, faults } = api;
      // The page hears the key a moment after it is drawn.
      await expect
        .poll(async () => {
          await page.keyboard.press('/');
          return page.evaluate('document.activeElement.type');
        })
        .toBe('search');
      const ids = (): Promise<unknown> =>
        page.evaluate('[...document.querySelectorAll("main article")].map((e) => e.id)');
      await page.keyboard.type('cancel load');
      await expect.poll(ids).toEqual(expect.arrayContaining(['cancelLoad']));
      await page.getByRole('searchbox').fill('revert-vacuumed');
      await expect.poll(ids).toEqual(['revert']);
      await page.getByRole('status').filter({ hasText: '1 endpoint,' }).waitFor();
      await page.getByRole('searchbox').fill('quux frobnicate');
      await page.getByText('Nothing has all of these words.').waitFor();
      await page.keyboard.press('Escape');
      await expect.poll(async () => ((await ids()) as string[]).length).toBeGreaterThan(routes.length);
      expect(faults).toEqual([]);
    });

    test('the curl line is copied, and does what it says', async () => {
      const { page, faults } = api;
      await page.getByRole('button', { name: 'Copy curl line of getBranch' }).click();
      await page.getByText('Copied').waitFor();
      await expect
        .poll(() => page.evaluate('navigator.clipboard.readText()'))
        .toBe(`curl '${service.address}/pool/movies/branch/main' -H 'Accept: application/json'`);
      const lineOf = (id: string): Promise<string | null> => page.locator(`#${id} .copyable pre`).textContent();
      await expect
        .poll(() => lineOf('renamePool'))
        .toBe(`curl -X PUT '${service.address}/pool/movies' -H 'Content-Type: application/json' -d '{"name":"films"}'`);
      await expect
        .poll(() => lineOf('compact'))
        .toMatch(/-H 'Content-Type: application\/json' -d '\{"object_ids":\["0x[0-9a-f]{40}","0x[0-9a-f]{40}"\]\}'$/);
      await expect
        .poll(() => lineOf('events'))
        .toBe(`curl -N '${service.address}/events' -H 'Accept: application/json'`);
      expect(faults).toEqual([]);
    });
  });

  test('the first page lists all pages, and each of them shows', async () => {
    const { page, faults, elsewhere } = await open({ hash: '' });
    const contents = contentsOf(
      readFileSync(new URL('../../visualize/docs/manual/README.md', import.meta.url), 'utf8'),
    );
    const plain = (text: string): string => text.replaceAll('`', '');
    for (const { title, text } of contents)
      await page
        .getByRole('main')
        .getByRole('listitem')
        .filter({ hasText: plain(title) })
        .filter({ hasText: text })
        .first()
        .waitFor();
    for (const { title } of contents) {
      await page
        .getByRole('navigation')
        .getByRole('link', { name: plain(title), exact: true })
        .click();
      await page.locator('main h2').first().waitFor();
      await expect
        .poll(() => page.getByRole('navigation').locator('[aria-current=page]').textContent())
        .toBe(plain(title));
      await expect
        .poll(() =>
          page.evaluate('[...document.querySelectorAll("main a[href^=\\"#\\"]")].map((a) => a.hash.slice(1)).length'),
        )
        .toBeGreaterThan(0);
    }
    await page.goto(`${service.address}/docs#console`);
    await expect
      .poll(() =>
        page.evaluate(
          '[...document.querySelectorAll("main img")].map((image) => image.loading = "eager") && [...document.querySelectorAll("main img")].every((image) => image.naturalWidth > 0)',
        ),
      )
      .toBe(true);
    expect({ faults, elsewhere }).toEqual({ faults: [], elsewhere: [] });
    await close(page);
  });

  test('a search finds options, errors, metrics and functions, and leads to their rows', async () => {
    const { page, faults } = await open({ hash: '' });
    for (const [search, id] of [
      ['-retry.keep', 'lake-serve-retry.keep'],
      ['lake_ready', 'metric-lake_ready'],
      ['levenshtein', 'function-levenshtein'],
      ['merge-conflict', 'error-merge-conflict'],
    ] as const) {
      await page.getByRole('searchbox').fill(search);
      await page.locator(`main a[href="#${id}"]`).click();
      await expect.poll(() => page.evaluate('document.activeElement.id')).toBe(id);
      await expect.poll(() => page.locator(`[id="${id}"]`).isVisible()).toBe(true);
    }
    expect(faults).toEqual([]);
    await close(page);
  });

  test('the answer to a mistake leads to its place', async () => {
    const { headers } = await fetch(`${service.address}/pool/absent`, { method: 'DELETE' });
    const place = /^<\/docs(#[\w-]+)>; rel="help"$/.exec(headers.get('link') ?? '')![1]!;
    const { page, faults } = await open({ hash: place });
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toContain('pool not found');
    expect(faults).toEqual([]);
    await close(page);
  });

  test('an address with an anchor leads to its endpoint, and links of the contents do', async () => {
    const { page, faults } = await open({ hash: '#vacuum' });
    const focused = (): Promise<unknown> => page.evaluate('document.activeElement.id');
    await expect.poll(focused).toBe('vacuum');
    await page
      .getByRole('navigation')
      .getByRole('link', { name: /Run a query/ })
      .click();
    await expect.poll(focused).toBe('query');
    await expect.poll(() => new URL(page.url()).hash).toBe('#query');
    expect(faults).toEqual([]);
    await close(page);
  });

  test('a GET is tried by keyboard, and its answer shown, good or bad', async () => {
    const { page, faults } = await open({ hash: '#getBranch' });
    // What the address names gets the focus when it is there, and must not take it away later.
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('getBranch');
    const card = page.locator('#getBranch');
    await card.locator('summary', { hasText: 'Try it' }).focus();
    await page.keyboard.press('Enter');
    const form = card.getByRole('form', { name: 'Try getBranch' });
    await form.getByRole('button', { name: 'Send' }).click();
    await form.getByText(/^200 OK/).waitFor();
    expect(JSON.parse((await form.getByLabel('Body of the answer').textContent())!)).toEqual({
      commit: expect.stringMatching(/^0x[0-9a-f]{40}$/),
      warnings: null,
    });
    expect(faults).toEqual([]);
    await form.getByLabel('branch').fill('a/b');
    await page.keyboard.press('Enter');
    await form.getByText(/^404/).waitFor();
    await expect
      .poll(() => form.getByLabel('Body of the answer').textContent())
      .toBe('{"type":"Error","kind":"item does not exist","error":"\\"a/b\\": branch not found"}\n');
    await close(page);
  });

  test('a POST is tried with its body; what would change the lake says so first', async () => {
    const { page, faults } = await open({ hash: '#getBranch' });
    const query = page.locator('#query');
    await query.locator('summary', { hasText: 'Try it' }).click();
    const form = query.getByRole('form', { name: 'Try query' });
    await form.getByLabel('Body', { exact: true }).fill('{"query":"values 1+1"}');
    await form.getByRole('button', { name: 'Send', exact: true }).click();
    await form.getByText(/^200 OK/).waitFor();
    await expect.poll(() => form.getByLabel('Body of the answer').textContent()).toBe('[2]\n');

    await page.goto(page.url().replace(/#.*/, '#createPool'));
    const pool = page.locator('#createPool');
    await pool.locator('summary', { hasText: 'Try it' }).click();
    const make = pool.getByRole('form', { name: 'Try createPool' });
    await make.getByLabel('Content-Type').selectOption('application/x-sup');
    await make.getByLabel('Body', { exact: true }).fill('{name:"tried"}');
    await make.getByRole('button', { name: 'Send: this changes the lake' }).click();
    await make.getByText(/^200 OK/).waitFor();
    expect(faults).toEqual([]);
    await close(page);
  });

  test('axe-core finds nothing serious in both themes, wide and on a phone, and nothing is wider than the screen', async () => {
    const sixth = seedOf(Math.floor(Date.now() / 86_400_000)) % 6;
    // All of it in one theme, and on a phone those that have the most to show in the other.
    for (const { search, ...look } of [
      { dark: true, search: '' },
      { width: 360, height: 740, search: 'branch-not-found' },
      { width: 360, height: 740, search: '', hash: '#functions' },
      { dark: true, search: '', hash: '#console' },
    ]) {
      const { page, faults, elsewhere } = await open(look);
      await page.getByRole('searchbox').fill(search);
      // Everything is open: what is closed is not looked at.
      await page.evaluate(
        'for (const e of document.querySelectorAll("#load details, #getBranch details, #events details")) e.open = true',
      );
      if (!('hash' in look)) await page.getByRole('button', { name: 'Send' }).first().waitFor();
      await expect
        .poll(() => page.evaluate('document.documentElement.scrollWidth - innerWidth'))
        .toBeLessThanOrEqual(0);
      // axe-core needs some seconds for all endpoints and for all rows of a long table, which are made by the same parts:
      // it sees those that are open and a sixth of the others, another one each day. What they could have twice between
      // them is their ids.
      expect(
        await page.evaluate(`(() => {
          const ids = [...document.querySelectorAll('[id]')].map((each) => each.id);
          const twice = ids.filter((id, i) => ids.indexOf(id) !== i);
          [...document.querySelectorAll('main article.endpoint')]
            .filter((each, i) => i % 6 !== ${sixth} && !['load', 'getBranch', 'events'].includes(each.id))
            .forEach((each) => each.remove());
          for (const table of document.querySelectorAll('main table'))
            [...table.tBodies[0].rows].filter((_, i) => i >= 10 && i % 6 !== ${sixth}).forEach((row) => row.remove());
          return twice;
        })()`),
      ).toEqual([]);
      expect(await seriousFindings(page), `sixth ${sixth} ${JSON.stringify(look)}`).toEqual([]);
      expect({ faults, elsewhere }).toEqual({ faults: [], elsewhere: [] });
      await close(page);
    }
  });
});
