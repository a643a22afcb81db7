/** The console's query page in a real browser against the real service: what people ask, and how the answer looks. */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, type Lake } from '../../src/client/client.ts';
import { type Service, startBuiltService } from '../support/service/built.ts';
import { faultsOf, lacksChromium, seriousFindings, type SharedBrowser, sharedChromium } from '../support/chromium.ts';
import { hostileTexts } from '../support/hostile-texts.ts';
import { placeOf } from './hand.ts';

const eventCount = 20_000;
/** Events of three shapes, one each minute. */
const events = (): string =>
  Array.from({ length: eventCount }, (_, i) => {
    const ts = new Date(Date.UTC(2026, 0, 1) + i * 60_000).toISOString();
    return i % 3 === 0
      ? `{ts:${ts},kind:"http",status:${[200, 404, 500][(i % 7) % 3]},client:{ip:10.0.0.${i % 200},user:"u${i % 9}"}}`
      : i % 3 === 1
        ? `{ts:${ts},kind:"dns",answers:[10.1.0.1,10.1.0.2],rtt:${i % 90}ms}`
        : `{ts:${ts},kind:"log",message:${i % 5 === 0 ? 'null' : `"worker ${i}"`},status:error("missing")}`;
  }).join('\n');

describe.skipIf(lacksChromium())('the query page', () => {
  let service: Service;
  let browser: SharedBrowser;
  let lake: Lake;
  beforeAll(async () => {
    [service, browser] = await Promise.all([startBuiltService({ flags: ['-workers', '1'] }), sharedChromium()]);
    lake = connect(service.address);
    const pool = await lake.createPool('events', { keys: [['ts']] });
    await pool.branch('main').load(events(), { format: 'sup' });
    await pool.createBranch('side branch', await pool.branch('main').tip());
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
  });

  interface Opened {
    readonly page: Page;
    readonly faults: readonly string[];
    /** Paths of its requests, and of those that have their answer. */
    readonly asked: readonly string[];
    readonly answered: readonly string[];
  }
  let shared:
    | { readonly page: Page; readonly faults: string[]; readonly asked: string[]; readonly answered: string[] }
    | undefined;
  let links = 0;
  /** Follows a link: in the page that the tests share, or in one of its own that looks or stores otherwise. */
  const open = async (
    text: string | undefined,
    options: {
      readonly width?: number;
      readonly height?: number;
      readonly dark?: boolean;
      readonly storage?: Readonly<Record<string, string>>;
      readonly own?: boolean;
    } = {},
  ): Promise<Opened> => {
    const hash = `#/query${text === undefined ? '' : `?${new URLSearchParams({ text, n: String(++links) }).toString()}`}`;
    if (shared && Object.keys(options).length === 0) {
      const { page } = shared;
      for (const list of [shared.faults, shared.asked, shared.answered]) list.length = 0;
      // What stands there goes before the link's own query comes.
      await page.evaluate(
        `(document.querySelector('.query').dataset.before = '', location.hash = ${JSON.stringify(hash)})`,
      );
      await page.locator('.query:not([data-before])').waitFor();
      await editor(page).waitFor();
      return shared;
    }
    const context = await browser.newContext({
      viewport: { width: options.width ?? 1440, height: options.height ?? 900 },
      colorScheme: options.dark ? 'dark' : 'light',
      reducedMotion: 'reduce',
      acceptDownloads: true,
    });
    const page = await context.newPage();
    const faults = faultsOf(page) as string[];
    const asked: string[] = [];
    const answered: string[] = [];
    page.on('request', (request) => {
      asked.push(new URL(request.url()).pathname);
    });
    page.on('requestfinished', (request) => {
      answered.push(new URL(request.url()).pathname);
    });
    if (options.storage)
      await page.addInitScript(
        `for (const [key, value] of Object.entries(${JSON.stringify(options.storage)})) localStorage.setItem(key, value)`,
      );
    await page.goto(`${service.address}/${hash}`);
    await editor(page).waitFor();
    if (Object.keys(options).length === 0) shared = { page, faults, asked, answered };
    return { page, faults, asked, answered };
  };
  const close = async (page: Page): Promise<void> => {
    if (page !== shared?.page) await page.context().close();
  };
  const editor = (page: Page) => page.getByRole('textbox', { name: 'Query' });
  const write = async (page: Page, text: string): Promise<void> => {
    await editor(page).click();
    await page.keyboard.press('Control+A');
    await page.keyboard.press('Delete');
    await page.keyboard.insertText(text);
  };
  const written = (page: Page): Promise<string> =>
    editor(page)
      .locator('.cm-line')
      .allTextContents()
      .then((lines) => lines.join('\n'));
  const button = (page: Page, name: string | RegExp) =>
    page.getByRole('button', { name, ...(typeof name === 'string' && { exact: true }) });
  const ended = (page: Page, state = 'Done') =>
    page.locator('.run-status .pill').getByText(state, { exact: true }).waitFor();
  const rowCount = (page: Page): Promise<string> => page.locator('.run-status strong').innerText();
  const cell = (page: Page, row: number, column: number) => page.locator(`#cell-${row}-${column}`);
  const titles = (page: Page): Promise<string[]> =>
    page
      .getByRole('columnheader')
      .evaluateAll((all) =>
        all.map((each) => `${(each as unknown as { dataset: { column?: string } }).dataset.column ?? '#'}`),
      );

  test('a question is written, completed, run by the keyboard; its link carries it', async () => {
    const { page, faults } = await open(undefined);
    await editor(page).click();
    await page.keyboard.type('from ev');
    await page.getByRole('option', { name: /events/ }).waitFor();
    await page.waitForTimeout(100);
    await page.keyboard.press('Enter');
    await page.keyboard.type('@');
    await page.getByRole('option', { name: /side branch/ }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Backspace');
    await page.keyboard.type(' | whe');
    await page.getByRole('option', { name: /^where/ }).waitFor();
    await page.waitForTimeout(100);
    await page.keyboard.press('Tab');
    await page.keyboard.type(' client.');
    // A list that goes may stand for a moment beside the one that comes.
    await page.getByRole('option', { name: /user/ }).first().waitFor();
    await page.keyboard.type('user == "u3" | count() by sta');
    await page
      .getByRole('option', { name: /status/ })
      .first()
      .waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.type('tus | sort status');
    await expect
      .poll(() => written(page))
      .toBe('from events | where client.user == "u3" | count() by status | sort status');
    await page.keyboard.press('Control+Enter');
    await ended(page);
    await expect.poll(() => titles(page)).toEqual(['#', 'status', 'count']);
    const [count] = await lake
      .query<{ readonly count: bigint }>('from events | where client.user == "u3" | count() by status | sort status')
      .all();
    await expect.poll(() => cell(page, 0, 2).innerText()).toBe(String(count!.count));
    const link = page.url();
    expect(new URLSearchParams(link.split('?')[1]).get('text')).toBe(
      'from events | where client.user == "u3" | count() by status | sort status',
    );
    // Tab leaves the editor; what the compiler said of the half-written query may stand before the buttons for a moment
    // longer.
    const reached = (): Promise<unknown> => page.evaluate('document.activeElement.textContent');
    await page.keyboard.press('Escape');
    for (let i = 0; i < 3 && !String(await reached()).includes('Run'); i++) await page.keyboard.press('Tab');
    await expect.poll(() => reached()).toContain('Run');
    expect(faults).toEqual([]);
    await close(page);
  });

  test('a link that would write, or fetch from elsewhere, waits for the reader', async () => {
    for (const text of ['from events | head 1 | LOAD events', 'from "https://example.com/x"']) {
      const { page, asked, answered } = await open(text);
      // The text is there, and checked, which runs nothing.
      await expect.poll(() => answered.some((path) => path === '/compile')).toBe(true);
      expect([asked.filter((path) => path === '/query'), await page.locator('.run-status').count()], text).toEqual([
        [],
        0,
      ]);
      await close(page);
    }
  });

  test('an error is shown at its place, as one types and when it is run', async () => {
    const { page } = await open('from events\n| where uper(kind) == "x"');
    await ended(page, 'Failed');
    await page.getByRole('alert').getByText('did you mean "upper"?').waitFor();
    await button(page, /^2:9 no such function/).waitFor();
    await expect.poll(() => page.locator('.cm-lintRange-error').allTextContents()).toEqual(['uper(kind)']);
    await button(page, /^2:9/).click();
    await page.keyboard.insertText('upper(kind)');
    await expect.poll(() => page.locator('.cm-lintRange-error').count()).toBe(0);
    await expect.poll(() => written(page)).toBe('from events\n| where upper(kind) == "x"');
    await page.keyboard.press('Control+Enter');
    await ended(page);
    await page.getByText('The answer has no rows.').waitFor();
    await close(page);
  });

  test('rows of all shapes share one table: types in the titles, nulls, errors and missing told from texts, nested values unfold', async () => {
    const { page, faults } = await open('from events | head 1000');
    await ended(page);
    await expect.poll(() => rowCount(page)).toBe('1,000 rows');
    await expect.poll(() => titles(page)).toEqual(['#', 'ts', 'kind', 'message', 'status', 'client', 'answers', 'rtt']);
    await expect
      .poll(() => page.getByRole('columnheader', { name: /^status/ }).innerText())
      .toMatch(/^status\s+int64 \| error\(string\)$/);
    const looks = async (row: number): Promise<string[]> =>
      page
        .locator('.grid-row[aria-rowindex="' + (row + 2) + '"] .cell')
        .evaluateAll((all) =>
          all
            .slice(1)
            .map(
              (each) =>
                `${(each as unknown as { className: string }).className.replace(/cell|active/g, '').trim()} ${each.textContent}`,
            ),
        );
    await expect
      .poll(() => looks(1))
      .toEqual([
        'is-time 2026-01-01T00:01:00Z',
        'is-string dns',
        'is-missing ',
        'is-missing ',
        'is-missing ',
        'is-nested [10.1.0.1,10.1.0.2]',
        'is-time 1ms',
      ]);
    await expect
      .poll(() => looks(5))
      .toEqual([
        'is-time 2026-01-01T00:05:00Z',
        'is-string log',
        'is-null null',
        'is-error missing',
        'is-missing ',
        'is-missing ',
        'is-missing ',
      ]);
    await button(page, 'Unfold client').click();
    await button(page, 'Unfold answers').click();
    await expect
      .poll(() => titles(page))
      .toEqual(['#', 'ts', 'kind', 'message', 'status', 'client.ip', 'client.user', 'answers[0]', 'answers[1]', 'rtt']);
    await expect.poll(() => cell(page, 3, 6).innerText()).toBe('u3');
    // The active cell is told while it is there alone.
    await page.locator('.grid').evaluate((grid) => {
      (grid as unknown as { scrollTop: number }).scrollTop = 9000;
    });
    await expect.poll(() => page.getByRole('grid').getAttribute('aria-activedescendant')).toBeNull();
    await page.locator('.grid').evaluate((grid) => {
      (grid as unknown as { scrollTop: number }).scrollTop = 0;
    });
    // By the keyboard: to the titles, the menu of a column, sort, and back into the rows.
    await cell(page, 0, 1).click();
    await page.keyboard.press('ArrowUp');
    for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.getByRole('menuitemradio', { name: 'Sort descending' }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await expect.poll(() => cell(page, 0, 6).innerText()).toBe('u6');
    await expect
      .poll(() => page.getByRole('columnheader', { name: /client\.user/ }).getAttribute('aria-sort'))
      .toBe('descending');
    // The grid has the focus again.
    await page.keyboard.press('Control+ArrowDown');
    await expect.poll(() => page.getByRole('grid').getAttribute('aria-activedescendant')).toBe('cell-999-6');
    await expect.poll(() => cell(page, 999, 6).getAttribute('aria-label')).toBe('missing');
    await page.keyboard.press('Enter');
    await page.getByRole('tree', { name: 'Parts of the value' }).waitFor();
    await expect.poll(() => page.getByRole('treeitem').first().innerText()).toMatch(/ts/);
    expect(faults).toEqual([]);
    await close(page);
  });

  test('the same rows stand there as SUP', async () => {
    const { page } = await open('from events | head 2');
    await ended(page);
    await page.getByRole('tab', { name: 'SUP' }).click();
    const expected = (await lake.query('from events | head 2').asText('sup')).trimEnd();
    await expect
      .poll(() =>
        page.locator('.sup-line:not([hidden])').evaluateAll((all) =>
          all
            .map((each) =>
              [...each.childNodes]
                .slice(1)
                .map((piece) => piece.textContent)
                .join(''),
            )
            .join('\n'),
        ),
      )
      .toBe(expected);
    await close(page);
  });

  test('a span brushed on the histogram narrows the query, moves it, and goes away again', async () => {
    const { page, faults } = await open('from events');
    await ended(page);
    await page.getByRole('tab', { name: 'Plot' }).click();
    await page.getByText(/20,000 rows in bins of 3 h/).waitFor();
    const over = await placeOf(page.locator('.u-over'));
    const brush = async (from: number, to: number): Promise<void> => {
      await page.mouse.move(over.x + over.width * from, over.y + 50);
      await page.mouse.down();
      await page.mouse.move(over.x + over.width * to, over.y + 60, { steps: 4 });
      await page.mouse.up();
    };
    await brush(0.25, 0.5);
    await expect
      .poll(() => written(page))
      .toMatch(/^from events \| where ts >= 2026-01-0\dT\d\d:00:00Z and ts < 2026-01-0\dT\d\d:00:00Z$/);
    const narrowed = await written(page);
    await ended(page);
    await expect
      .poll(() => rowCount(page))
      .toBe(`${Number(await lake.query(`${narrowed} | count()`).first()).toLocaleString('en')} rows`);
    await page.getByText(/rows in bins of 1 h/).waitFor();
    // Again, by the keyboard.
    await page.getByRole('slider', { name: 'To' }).focus();
    for (let i = 0; i < 10; i++) await page.keyboard.press('ArrowLeft');
    await button(page, 'Narrow').click();
    await expect.poll(() => written(page)).not.toBe(narrowed);
    await expect.poll(() => written(page)).toMatch(/^from events \| where ts >= \S+Z and ts < \S+Z$/);
    await ended(page);
    await button(page, 'Whole time').click();
    await expect.poll(() => written(page)).toBe('from events');
    await page.getByText(/20,000 rows in bins of 3 h/).waitFor();
    await page.getByText('Figures as a table').click();
    await expect.poll(() => page.getByRole('table').getByRole('row').count()).toBeGreaterThan(100);
    expect(faults).toEqual([]);
    await close(page);
  });

  test('groups are bars, numbers over times are lines, and what is no plot says why', async () => {
    const { page } = await open('from events | count(), n:=sum(len(kind)) by kind | sort kind');
    await ended(page);
    await page.getByRole('tab', { name: 'Plot' }).click();
    await expect
      .poll(() => page.getByRole('table').getByRole('row').allInnerTexts())
      .toEqual(['kind\tcount\tn', 'dns\t\n6,667\n\t\n20,001', 'http\t\n6,667\n\t\n26,668', 'log\t\n6,666\n\t\n19,998']);
    // However long their figures are, the bars of a column have one scale.
    await write(page, 'values {k:"a",n:1000000000},{k:"b",n:500000000},{k:"c",n:250000}');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('row', { name: '1,000,000,000' }).waitFor();
    const scale = async (): Promise<unknown> => {
      const [a, b, c] = (await page
        .locator('.chart-bar')
        .evaluateAll((all) =>
          all.map(
            (each) =>
              (each as unknown as { getBoundingClientRect: () => { width: number } }).getBoundingClientRect().width,
          ),
        )) as [number, number, number];
      return [Math.round((b / a) * 100), c <= 1.5];
    };
    await expect.poll(scale).toEqual([50, true]);
    await write(page, 'from events | count() by bucket(ts,1d), kind');
    await page.keyboard.press('Control+Enter');
    await page.locator('.legend').getByText('dns').waitFor();
    expect((await page.locator('.legend li bdi').allInnerTexts()).sort()).toEqual(['dns', 'http', 'log']);
    await write(page, 'from events | values status');
    await page.keyboard.press('Control+Enter');
    await page.getByText('These values have no fields.').waitFor();
    await close(page);
  });

  test('a query that lasts shows how far it is, and is cancelled here and in the service', async () => {
    const { page } = await open('from events | inner join (from events) on left.kind=right.kind | count()');
    await page.getByRole('progressbar').waitFor();
    await button(page, 'Cancel').click();
    await ended(page, 'Cancelled');
    await expect.poll(() => page.locator('.run-progress').count()).toBe(0);
    await close(page);
  });

  test('a failure amid the rows keeps what came and says so; a limit of rows waits for more', async () => {
    const first = await open('from events | head 3000 | put x:=1', { storage: { 'lake-rows-max': '1000' } });
    await ended(first.page, 'Waiting');
    const before = Number((await rowCount(first.page)).replace(/\D/g, ''));
    expect(before).toBeGreaterThan(1000);
    // Between a click and the next rows it is neither: whichever comes is waited for. It may go away between the look
    // and the click.
    const done = first.page.locator('.run-status .pill').getByText('Done', { exact: true });
    const more = button(first.page, 'More');
    while (
      await done
        .or(more)
        .waitFor()
        .then(() => more.isVisible())
    )
      await more.click({ timeout: 2000 }).catch(() => undefined);
    await ended(first.page);
    await expect.poll(() => rowCount(first.page)).toBe('3,000 rows');
    await close(first.page);
    const { page } = await open('values 1', { own: true });
    await ended(page);
    // A service that ends in the middle of an answer.
    await page.route('**/query?ctrl=T', (route) =>
      route.fulfill({
        status: 200,
        contentType: 'application/x-jsup',
        body: '{"type":{"kind":"primitive","name":"int64"},"value":"7"}\n{"type":"QueryError","value":{"error":"the <b>store</b> is gone"}}\n',
      }),
    );
    await button(page, /^Run/).click();
    await ended(page, 'Failed');
    await page.getByRole('alert').getByText('the <b>store</b> is gone').waitFor();
    await page.getByText('The 1 row that came before is kept below.').waitFor();
    await expect.poll(() => cell(page, 0, 1).innerText()).toBe('7');
    await close(page);
  });

  test('queries are remembered, found again, and saved under names', async () => {
    const { page } = await open('values "first"', { own: true });
    await ended(page);
    await write(page, 'values "second"');
    await button(page, /^Run/).click();
    await page.locator('.cell', { hasText: 'second' }).waitFor();
    await button(page, 'Saved').click();
    await page.getByLabel('Save the query as').fill('<b>mine</b>');
    await page.keyboard.press('Enter');
    await button(page, 'Delete <b>mine</b>').waitFor();
    await page.keyboard.press('Escape');
    await page.reload();
    await button(page, 'History').click();
    await expect.poll(() => page.locator('.picks code').allInnerTexts()).toEqual(['values "second"', 'values "first"']);
    await page.getByRole('searchbox', { name: 'Search the history' }).fill('FIRST');
    await page.locator('.pick').click();
    await page.locator('.cell', { hasText: 'first' }).waitFor();
    await button(page, 'Saved').click();
    await page.locator('.pick').click();
    await page.locator('.cell', { hasText: 'second' }).waitFor();
    await close(page);
  });

  test('where there is no room for one more saved query, the page says so', async () => {
    const { page } = await open('values 1', {
      own: true,
      storage: {
        'lake-queries': JSON.stringify(Array.from({ length: 200 }, (_, i) => ({ name: `n${i}`, text: 'pass' }))),
      },
    });
    await ended(page);
    await button(page, 'Saved').click();
    await page.getByLabel('Save the query as').fill('z');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('no room for more').waitFor();
    await expect.poll(() => page.getByLabel('Save the query as').inputValue()).toBe('z');
    await button(page, 'Delete n0').click();
    await button(page, 'Save').click();
    await button(page, 'Delete z').waitFor();
    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
    await close(page);
  });

  test('an answer is downloaded in any format, as the service writes it', async () => {
    const { page } = await open('from events | head 30');
    await ended(page);
    const fetched = async (name: RegExp): Promise<Buffer> => {
      await button(page, 'Download').click();
      const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name }).click()]);
      return readFileSync((await file.path())!);
    };
    await button(page, 'Download').click();
    await expect.poll(() => page.getByRole('menuitem').count()).toBe(12);
    await page.keyboard.press('Escape');
    const same = async (format: 'sup' | 'csv', text: string): Promise<string> => lake.query(text).asText(format);
    expect((await fetched(/^SUP/)).toString()).toBe(await same('sup', 'from events | head 30'));
    expect((await fetched(/^CSV/)).toString()).toBe(await same('csv', 'from events | head 30 | fuse'));
    await close(page);
  });

  test('hostile texts stay texts: names of fields, values, errors, queries', async () => {
    const row = `{${hostileTexts
      .slice(0, -1)
      .map((text, i) => `${JSON.stringify(`${text}${i}`)}:${JSON.stringify(text)}`)
      .join(',')},e:${JSON.stringify(hostileTexts[0])}}`;
    const pool = await lake.createPool(hostileTexts[0]);
    await pool
      .branch('main')
      .load(
        `${row}\n${hostileTexts.map((text) => `error(${JSON.stringify(text)})`).join('\n')}\n${JSON.stringify(hostileTexts.at(-1))}`,
        { format: 'sup' },
      );
    const { page, faults } = await open(`from ${JSON.stringify(hostileTexts[0])}`);
    await ended(page);
    await cell(page, 0, 1).dblclick();
    for (const view of ['SUP', 'Plot', 'Table']) await page.getByRole('tab', { name: view }).click();
    await button(page, 'Columns').click();
    await write(
      page,
      `values ${hostileTexts
        .slice(0, -1)
        .map((text) => JSON.stringify(text))
        .join(',')} | ${hostileTexts[1]}`,
    );
    await page.keyboard.press('Control+Enter');
    await ended(page, 'Failed');
    await button(page, 'History').click();
    await page.locator('.pick').first().waitFor();
    await expect
      .poll(() => page.locator('.query img:not(.cm-widgetBuffer), iframe, script:not([type=module])').count())
      .toBe(0);
    expect(faults.filter((fault) => !fault.includes('400'))).toEqual([]);
    await pool.delete();
    await close(page);
  });

  test('axe-core finds nothing serious in both themes, wide and narrow, and nothing is wider than the screen', async () => {
    const looks = [
      { dark: false, width: 1200, height: 620, checks: ['failure', 'table', 'SUP', 'plot'] },
      {
        dark: true,
        width: 360,
        height: 740,
        checks: ['failure', 'long text', 'table', 'SUP', 'plot', 'Help', 'Download'],
      },
    ];
    for (const { checks, ...look } of looks) {
      const { page } = await open('from events | where uper(kind) == "x"', look);
      const check = async (what: string): Promise<void> => {
        if (checks.includes(what)) expect(await seriousFindings(page), `${what} ${JSON.stringify(look)}`).toEqual([]);
      };
      await page.locator('.cm-lintRange-error').first().waitFor();
      await check('failure');
      if (checks.includes('long text')) {
        await write(page, `from events${'\n| where true'.repeat(40)}`);
        await check('long text');
      }
      await write(page, 'from events | head 6');
      await page.keyboard.press('Control+Enter');
      await cell(page, 2, 1).click();
      await page.keyboard.press('Enter');
      await page.getByRole('tree').waitFor();
      await check('table');
      await page.getByRole('tab', { name: 'SUP' }).click();
      await check('SUP');
      await page.getByRole('tab', { name: 'Plot' }).click();
      await page.getByText(/rows in bins of/).waitFor();
      await check('plot');
      await expect
        .poll(() => page.evaluate('document.documentElement.scrollWidth - innerWidth'))
        .toBeLessThanOrEqual(0);
      for (const name of ['Help', 'Download']) {
        await button(page, name).click();
        await check(name);
        await page.keyboard.press('Escape');
      }
      await close(page);
    }
  });
});
