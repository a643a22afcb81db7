/** The inspector in a real browser against the real service: what people see while it works, and of a recording. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  faultsOf,
  lacksChromium,
  newPageOf,
  seriousFindings,
  type SharedBrowser,
  sharedChromium,
} from '../support/chromium.ts';
import { startPrefixProxy } from '../support/service/prefix-proxy.ts';
import { startService, type TestService } from '../support/service/server.ts';

const json = { 'content-type': 'application/json', accept: 'application/json' } as const;
/** Names that would be markup, script, or hard to show. */
const hostileNames = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(2)</script>',
  "'-alert(3)-'",
  'javascript:alert(4)',
  '{{constructor.constructor("alert(5)")()}}',
  '</svg><svg onload=alert(6)>',
  '\u202eevil',
  'a\u0000b',
  '&lt;b&gt;',
  'x'.repeat(500),
];

describe.skipIf(lacksChromium())('the inspector', () => {
  const folder = mkdtempSync(join(tmpdir(), 'inspect-'));
  const recording = join(folder, 'recording.ndjson');
  let service: TestService;
  let browser: SharedBrowser;
  let context: BrowserContext;
  beforeAll(async () => {
    service = await startService(['-workers', '1', '-record', recording]);
    browser = await sharedChromium();
    context = await browser.newContext();
    await createPool('flights');
    await load('flights', '{k:1,secret:"of the record"} {k:2}');
  });
  afterAll(async () => {
    await browser?.close();
    await service?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const createPool = async (name: string): Promise<void> => {
    expect(
      (
        await service.ask('POST', '/pool', {
          headers: json,
          body: JSON.stringify({ name, layout: { order: 'asc', keys: [['k']] } }),
        })
      ).status,
    ).toBe(200);
  };
  const load = async (pool: string, body: string, branch = 'main'): Promise<string> => {
    const answer = await service.ask('POST', `/pool/${encodeURIComponent(pool)}/branch/${branch}`, {
      headers: { accept: 'application/json' },
      body,
    });
    expect(answer.status, answer.body).toBe(200);
    return (JSON.parse(answer.body) as { readonly commit: string }).commit;
  };
  const open = async (
    options: { readonly width?: number; readonly height?: number; readonly dark?: boolean; readonly url?: string } = {},
  ): Promise<{ readonly page: Page; readonly faults: readonly string[] }> => {
    const page = await newPageOf(context, options);
    const faults = faultsOf(page);
    await page.goto(`${options.url ?? service.url}/inspect`);
    await page.getByText('Live', { exact: true }).waitFor();
    return { page, faults };
  };
  const choose = (page: Page, name: string): Promise<void> => page.getByRole('treeitem', { name }).first().click();
  const activeState = (page: Page, state: string) => page.locator(`.machine .node.active[data-state="${state}"]`);
  const messages = (page: Page) => page.getByRole('listbox', { name: 'Messages' });

  test('a pool is seen to go from idle to working and back while a load runs', async () => {
    const { page, faults } = await open();
    await choose(page, 'flights');
    await activeState(page, 'idle').waitFor();
    // What was lit, in turn.
    await page.evaluate(`(() => {
      window.seen = [];
      const look = () => { const one = document.querySelector('.machine .node.active[data-state]:not([data-state=""])'); const state = one && one.dataset.state; if (state !== window.seen.at(-1)) window.seen.push(state); };
      new MutationObserver(look).observe(document.querySelector('.chart'), { subtree: true, childList: true, attributes: true });
      look();
    })()`);
    await load('flights', '{k:3}');
    await expect.poll(() => page.evaluate('window.seen'), { timeout: 30_000 }).toEqual(['idle', 'working', 'idle']);
    await messages(page)
      .getByRole('option', { name: /flights.*work waiting · load · main.*idle → working/ })
      .last()
      .waitFor();
    await messages(page)
      .getByRole('option', { name: /flights.*work is done · 1 done.*working → idle/ })
      .last()
      .waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  test('the failure of a merge with nothing to bring is seen', async () => {
    await createPool('merged');
    const tip = await load('merged', '{k:1} {k:2} {k:3}');
    const child = await service.ask('POST', '/pool/merged', {
      headers: json,
      body: JSON.stringify({ name: 'child', commit: tip }),
    });
    expect(child.status).toBe(200);
    const { page, faults } = await open();
    expect((await service.ask('POST', '/pool/merged/branch/main/merge/child', { headers: json })).status).toBe(409);
    await page.getByLabel('Failures').check();
    const failed = messages(page).getByRole('option', {
      name: /merged.*work is done · 1 failed: merge-empty.*working → idle/,
    });
    await failed.click();
    await expect.poll(() => page.getByRole('status').first().textContent()).toBe('Paused');
    await activeState(page, 'idle').waitFor();
    await page.locator('.machine text.label.hit', { hasText: 'done' }).waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  test('a recording opens and its scrubber goes forward and backward', async () => {
    const { page, faults } = await open();
    await page.setInputFiles('input[type=file]', recording);
    await page.getByText(/recording\.ndjson: \d+ messages/).waitFor();
    const place = page.getByRole('slider', { name: 'Place' });
    const at = async (): Promise<number> => Number(await place.inputValue());
    await expect.poll(() => at()).toBe(Number(await place.getAttribute('min')));
    const option = messages(page).locator('[aria-selected=true]');
    await expect.poll(() => option.textContent()).toMatch(/lake.*starts.*start → starting/);
    await activeState(page, 'starting').waitFor();
    for (const [state, event] of [
      ['recovering', 'work is done'],
      ['ready.idle', 'work is done'],
      ['ready.working', 'create pool'],
    ] as const) {
      await page.getByRole('button', { name: 'Step', exact: true }).click();
      await activeState(page, state).waitFor();
      await expect.poll(() => option.textContent()).toContain(event);
    }
    await page.getByRole('button', { name: 'Step back' }).click();
    await activeState(page, 'ready.idle').waitFor();
    await page.getByPlaceholder('Event').fill('load');
    await messages(page)
      .getByRole('option', { name: /flights.*work waiting · load · main.*idle → working/ })
      .first()
      .click();
    await activeState(page, 'working').waitFor();
    await place.focus();
    await page.keyboard.press('End');
    await expect.poll(() => at()).toBe(Number(await place.getAttribute('max')));
    await activeState(page, 'idle').waitFor();
    await page.getByRole('button', { name: 'Back to live' }).click();
    await page.getByText('Live', { exact: true }).waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  test('a file that is no recording is told, and the page goes on', async () => {
    const { page } = await open();
    for (const [name, text, fault] of [
      ['movies.json', '[1,2]', 'is no line of a recording'],
      ['a.ndjson', '{"kind":"message"}', 'its first line is no header'],
      ['b.ndjson', '{"kind":"header","format":99}', 'has format 99'],
      ['c.txt', 'hello', 'its first line is no JSON'],
    ] as const) {
      await page.setInputFiles('input[type=file]', { name, mimeType: 'text/plain', buffer: Buffer.from(text) });
      await page.getByRole('alert').filter({ hasText: name }).filter({ hasText: fault }).waitFor();
    }
    await page.getByText('Live', { exact: true }).waitFor();
    await page.close();
  });

  test('the view pauses, steps and resumes by keyboard while the service goes on', async () => {
    const { page } = await open();
    await page.keyboard.press('p');
    await page.getByText('Paused').waitFor();
    await load('flights', '{k:4}');
    await page.getByText(/\d+ newer/).waitFor();
    await page.getByRole('tree', { name: 'Actors' }).focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowDown');
    await expect
      .poll(() => page.locator('[role=treeitem][aria-selected=true]').getAttribute('data-actor'))
      .toMatch(/^pool\//);
    const place = page.getByRole('slider', { name: 'Place' });
    const before = Number(await place.inputValue());
    await page.keyboard.press('.');
    await page.keyboard.press('.');
    await page.keyboard.press(',');
    await expect.poll(async () => Number(await place.inputValue())).toBe(before + 1);
    await page.keyboard.press('p');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('searchbox', { name: 'Search actors' }).fill('FLIGHTS');
    await expect.poll(() => page.locator('[role=treeitem][data-actor^="pool/"]').count()).toBe(1);
    await page.close();
  });

  test('hostile names of pools stay text', async () => {
    const { page, faults } = await open();
    for (const name of hostileNames) {
      await createPool(name);
      await load(name, '{k:1}');
    }
    const clipped = hostileNames.map((name) => (name.length > 200 ? `${name.slice(0, 200)}…` : name));
    await expect
      .poll(() => page.evaluate('[...document.querySelectorAll("[role=treeitem] .name")].map((e) => e.textContent)'), {
        timeout: 30_000,
      })
      .toEqual(expect.arrayContaining(clipped));
    await page.getByRole('searchbox', { name: 'Search actors' }).fill('img');
    await choose(page, hostileNames[0]!);
    await expect.poll(() => page.locator('img:not(.home img), iframe, script:not([type=module])').count()).toBe(0);
    expect(faults).toEqual([]);
    await page.close();
  });

  test('axe-core finds nothing serious, in both themes, wide and narrow, live and from a recording', async () => {
    // Themes differ in colours, widths in what is beside what: two looks have both of each.
    for (const look of [{ dark: false }, { width: 360, height: 740, dark: true }]) {
      const { page } = await open(look);
      expect(await seriousFindings(page), JSON.stringify(look)).toEqual([]);
      if (look.width !== undefined) {
        for (const part of ['Actors', 'Messages', 'Sequence']) {
          await page.getByRole('button', { name: part, exact: true }).click();
          expect(await seriousFindings(page), `${part} ${JSON.stringify(look)}`).toEqual([]);
        }
      }
      await page.setInputFiles('input[type=file]', recording);
      await page.getByText(/recording\.ndjson: \d+ messages/).waitFor();
      expect(await seriousFindings(page), `recording ${JSON.stringify(look)}`).toEqual([]);
      // Nothing is wider than the screen.
      await expect
        .poll(() => page.evaluate('document.documentElement.scrollWidth - innerWidth'))
        .toBeLessThanOrEqual(0);
      await page.close();
    }
  });

  test('the page works behind a path prefix', async () => {
    const proxy = await startPrefixProxy(new URL(service.url));
    const { page, faults } = await open({ url: proxy.url });
    await choose(page, 'flights');
    await activeState(page, 'idle').waitFor();
    expect(faults).toEqual([]);
    await page.close();
    proxy.close();
  });
});
