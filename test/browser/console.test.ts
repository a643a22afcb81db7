/** The console in a real browser against the real service: what people look at and change. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, type Lake } from '../../src/client/client.ts';
import { program, type Service, startBuiltService } from '../support/built-service.ts';
import { faultsOf, lacksChromium, launchChromium, seriousFindings } from '../support/chromium.ts';
import { hostileTexts } from '../support/hostile-texts.ts';
import { startPrefixProxy } from '../support/prefix-proxy.ts';
import { dataset, mixedEvents } from './console-lake.ts';

/** For what comes by itself, on a machine that has other work too. */
const soon = { timeout: 15_000 };

describe.skipIf(lacksChromium())('the console', () => {
  let service: Service, browser: Browser, lake: Lake;
  beforeAll(async () => {
    [service, browser] = await Promise.all([startBuiltService({ flags: ['-workers', '1'] }), launchChromium()]);
    lake = connect(service.address);
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
  });

  const open = async (hash = '', options: { readonly width?: number; readonly height?: number; readonly dark?: boolean; readonly url?: string; readonly wait?: boolean } = {}): Promise<{ readonly page: Page; readonly faults: readonly string[] }> => {
    const page = await browser.newPage({ viewport: { width: options.width ?? 1440, height: options.height ?? 900 }, colorScheme: options.dark ? 'dark' : 'light', reducedMotion: 'reduce' });
    const faults = faultsOf(page);
    await page.goto(`${options.url ?? service.address}/${hash}`);
    if (options.wait !== false) await page.getByText('Live', { exact: true }).waitFor();
    return { page, faults };
  };
  const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, ...(typeof name === 'string' && { exact: true }) });
  const figure = (page: Page, label: string) => page.locator('.figure').filter({ hasText: label }).locator('dd');
  const commit = (page: Page, text: string) => page.locator('.row.commit').filter({ hasText: text }).first();
  const count = async (text: string): Promise<unknown> => lake.query(text).first();
  const curl = (page: Page): Promise<string | null> => page.locator('dialog .curl code').textContent();
  const pick = async (page: Page, name: string, body: Buffer | string): Promise<void> => { await page.setInputFiles('dialog input[type=file]', { name, mimeType: '', buffer: Buffer.from(body) }); };
  /** Drops a file on the page as a hand does. */
  const drop = async (page: Page, name: string, body: Buffer): Promise<void> => {
    await page.evaluate(`(async () => {
      const bytes = Uint8Array.from(atob(${JSON.stringify(body.toString('base64'))}), (c) => c.charCodeAt(0)), data = new DataTransfer();
      data.items.add(new File([bytes], ${JSON.stringify(name)}));
      window.dispatchEvent(new DragEvent('dragover', { dataTransfer: data, bubbles: true, cancelable: true }));
      window.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
    })()`);
  };

  test('the whole story: a file is dropped, loaded, queried, branched, loaded there, merged, reverted, vacuumed', async () => {
    const { page, faults } = await open();
    await page.getByRole('heading', { name: 'There are no pools yet' }).waitFor();
    await drop(page, 'movies.json', readFileSync(dataset('movies.json')));
    await page.getByLabel('Each element of the JSON array is a record').waitFor();
    expect(await page.getByLabel('Name of the pool').inputValue()).toBe('movies');
    await page.getByLabel('Key', { exact: true }).fill('Title');
    await page.getByText('Author and message').click();
    await page.getByLabel('Author').fill('ann');
    await page.getByLabel('Message').fill('all films');
    await button(page, 'Load file').click();
    await page.getByText(/^3,201 records, 1.4 MB in /).waitFor();
    await button(page, 'Show the pool').click();
    await page.getByRole('heading', { name: 'movies' }).waitFor();
    await expect.poll(() => figure(page, 'records').textContent(), soon).toBe('3,201');
    expect(await commit(page, 'all films').textContent()).toContain('+3,201');

    await page.getByRole('link', { name: 'Query', exact: true }).last().click();
    await page.locator('.query-place:not([hidden])').getByText('Casablanca').or(page.locator('.query-place [role=gridcell]').first()).first().waitFor();
    await page.getByRole('link', { name: 'Pools', exact: true }).first().click();
    await page.getByRole('link', { name: 'movies', exact: true }).click();

    await button(page, 'Branch').click();
    await page.getByLabel('Name', { exact: true }).fill('trial');
    await button(page, 'Create branch').click();
    await expect.poll(() => page.getByLabel('Branch', { exact: true }).inputValue(), soon).toBe('trial');
    await button(page, 'Load data').click();
    await pick(page, 'more.sup', '{Title:"A Lake"}\n{Title:"Another Lake"}\n');
    await button(page, 'Load file').click();
    await button(page, 'Show the pool').click();
    await expect.poll(() => figure(page, 'records').textContent(), soon).toBe('3,203');
    expect(await count('from movies | count()')).toBe(3201n);

    await button(page, 'Merge').click();
    await page.locator('dialog .effect').waitFor();
    expect(await page.locator('dialog .effect').textContent()).toBe('adds+2 records in 1 data objectremovesnothingthe branch changes by+2 recordsconflictsnone');
    await button(page, 'Merge').last().click();
    await page.getByText('Merged trial into main.').waitFor();
    expect(await count('from movies | count()')).toBe(3203n);
    await page.getByLabel('Branch', { exact: true }).selectOption('main');
    await commit(page, 'merged "trial" into "main"').click();
    expect(await page.locator('.details').textContent()).toMatch(/added\+2 records.*parents[0-9a-f]{8} [0-9a-f]{8} /);

    await button(page, 'Revert').click();
    await page.locator('dialog .effect').getByText('−2 records in 1 data object').waitFor();
    await button(page, 'Revert').last().click();
    await commit(page, 'reverted commit').waitFor();
    expect(await count('from movies | count()')).toBe(3201n);

    await button(page, 'Delete records').click();
    await page.getByLabel('Where').fill('this["IMDB Rating"] < 2 or');
    await page.locator('dialog .fault').waitFor();
    await page.getByLabel('Where').fill('this["IMDB Rating"] < 2');
    await page.getByText(/would go/).waitFor();
    const gone = Number(await count('from movies | this["IMDB Rating"] < 2 | count()'));
    expect(await page.locator('dialog .effect').textContent()).toContain(`${gone} records would go`);
    await button(page, `Delete ${gone} records`).click();
    await expect.poll(() => count('from movies | count()'), soon).toBe(BigInt(3201 - gone));

    await button(page, 'Branches 2').or(page.getByRole('tab', { name: /Branches/ })).first().click();
    await button(page, 'Delete branch trial').click();
    await page.getByLabel(/to confirm/).fill('trial');
    await button(page, 'Delete branch').click();
    await page.getByText('Branch trial is deleted.').waitFor();
    await button(page, 'Vacuum').click();
    await page.getByText(/data objects? would be removed/).waitFor();
    await page.getByLabel('Remove them for good').check();
    await button(page, /^Remove \d+ data object/).click();
    await page.getByText(/Removed \d+ data objects? for good/).waitFor();
    expect(await lake.pool('movies').vacuum('main', { dryRun: true })).toEqual([]);
    expect(faults.filter((fault) => !fault.includes('400'))).toEqual([]);
    await page.close();
  });

  test('a file of events is dropped, loaded, queried, and its histogram brushed', async () => {
    const { page, faults } = await open();
    await page.getByRole('heading', { name: /^Pools/ }).waitFor();
    await drop(page, 'visits.sup', Buffer.from(mixedEvents(3000)));
    await expect.poll(() => page.getByLabel('Key', { exact: true }).inputValue(), soon).toBe('ts');
    await button(page, 'Load file').click();
    await page.getByText(/^3,000 records/).waitFor();
    await button(page, 'Show the pool').click();
    await page.getByRole('heading', { name: 'visits' }).waitFor();
    await page.getByRole('link', { name: 'Query', exact: true }).last().click();
    await page.getByText('3,000 rows', { exact: true }).waitFor();
    await page.getByRole('tab', { name: 'Plot' }).click();
    const over = page.locator('.u-over');
    await over.waitFor();
    const { x, y, width } = (await over.boundingBox())!;
    await page.mouse.move(x + width * 0.25, y + 50);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.75, y + 60, { steps: 4 });
    await page.mouse.up();
    await expect.poll(() => new URL(page.url()).hash, soon).toMatch(/text=from\+visits\+%7C\+where\+ts\+%3E%3D\+/);
    const text = new URLSearchParams(new URL(page.url()).hash.split('?')[1]).get('text')!;
    await page.getByText(`${Number(await count(`${text} | count()`)).toLocaleString('en-US')} rows`, { exact: true }).waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  test('time travel: a click shows the pool as it was, in the address, the figures and the link to its query', async () => {
    const main = (await lake.createPool('travel', { keys: [['k']] })).branch('main');
    const first = await main.insert([{ k: 1n }], { message: 'one' });
    await main.insert([{ k: 2n }, { k: 3n }], { message: 'two more' });
    const { page, faults } = await open('#/pool/travel');
    await commit(page, 'one').click();
    await button(page, 'Go to this point in time').click();
    await page.getByText(/The pool as it was at/).waitFor();
    expect(new URL(page.url()).hash).toBe(`#/pool/travel?at=${first.commit}`);
    await expect.poll(() => figure(page, 'records').textContent(), soon).toBe('1');
    expect(await page.getByRole('link', { name: 'Query', exact: true }).last().getAttribute('href')).toBe(`#/query?pool=travel&branch=${first.commit}`);
    await page.getByRole('tab', { name: 'Data objects' }).click();
    await page.locator('.row.object').waitFor();
    expect(await page.locator('.row.object').count()).toBe(1);
    await button(page, 'Back to main').click();
    await expect.poll(() => page.locator('.row.object').count(), soon).toBe(2);
    await page.goBack();
    await page.getByText(/The pool as it was at/).waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  test('the place of a fault in a file is shown with the text around it', async () => {
    await lake.createPool('faults');
    const { page } = await open('#/pool/faults');
    await button(page, 'Load data').first().click();
    const tried: readonly (readonly [name: string, text: string | Buffer, lines: readonly string[], mark?: string])[] = [
      ['a.ndjson', '{"a":1}\n{"a":2}\n{"a":,"b":3}\n{"a":4}\n', ['1{"a":1}', '2{"a":2}', '3{"a":,"b":3}', '4{"a":4}'], ','],
      ['b.csv', 'a,b\n1,2\n3\n4,5\n', ['1a,b', '21,2', '33', '44,5']],
      ['c.json.gz', gzipSync('[{"a":1},\n{"a":2 "b"}]'), ['[{"a":1},', '{"a":2 "b"}]'], '"'],
      ['<b>.sup', '{a:1}\n{a:\u202e"<i>" y}\n', ['1{a:1}', '2{a:⟨U+202E⟩"<i>" y}']],
    ];
    for (const [name, text, lines, mark] of tried) {
      await pick(page, name, text);
      await button(page, /^Load/).last().click();
      const file = page.locator('li.file.failed').filter({ hasText: name });
      await file.locator('.fault-place').waitFor();
      expect((await file.locator('.fault-line').allTextContents()).map((line) => line.trimEnd())).toEqual(lines);
      if (mark !== undefined) expect(await file.locator('mark').textContent()).toBe(mark);
      await button(page, 'Close').last().click();
      await button(page, 'Load data').first().click();
    }
    expect(await lake.pool('faults').sums('main')).toMatchObject({ records: 0 });
    await page.close();
  });

  test('a load can be cancelled, and nothing of it is there', async () => {
    const pool = await lake.createPool('cancelled', { keys: [['k']] }), before = await pool.branch('main').tip();
    const { page } = await open('#/pool/cancelled');
    await button(page, 'Load data').first().click();
    // Slow enough that it is still on its way.
    const network = await page.context().newCDPSession(page);
    await network.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 200_000 });
    await pick(page, 'long.ndjson', '{"k":1,"text":"a line that is repeated"}\n'.repeat(100_000));
    await button(page, 'Load file').click();
    await page.getByText(/^Sent \d+ %/).waitFor();
    await button(page, 'Cancel load').click();
    await page.getByText('Cancelled: nothing was loaded').waitFor();
    expect(await pool.branch('main').tip()).toBe(before);
    await page.close();
  });

  test('hostile names, authors and messages stay text on every page', async () => {
    for (const [i, text] of hostileTexts.entries()) {
      const pool = await lake.createPool(text, { keys: [[`k${i} ${text.slice(0, 200)}`]] }), main = pool.branch('main');
      await main.insert([{ [`k${i} ${text.slice(0, 200)}`]: text }], { author: text.slice(0, 3000), message: text.slice(0, 3000) });
      if (i % 4 === 0) await pool.createBranch(text, await main.tip());
    }
    const { page, faults } = await open();
    await page.locator('.pools .name a').nth(20).waitFor();
    const names = await page.locator('.pools .name bdi').allTextContents();
    expect(names).toEqual(expect.arrayContaining(['<img src=x onerror=alert(1)>', '⟨U+202E⟩evil', 'a␀b', 'tab␉and␊line␍', '␛[31mred', '👩‍👩‍👧‍👦🏳️‍🌈', 'مرحبا بالعالم', `${'x'.repeat(120)}…`]));
    // The figures of all of them come, however many are asked for at once.
    await expect.poll(() => page.locator('.pools .number').filter({ hasText: '…' }).count(), soon).toBe(0);
    const clean = async (): Promise<void> => { expect(await page.locator('iframe, img:not(.brand img), script:not([type=module]), [onerror], [onload]').count()).toBe(0); };
    for (const i of [0, 1, 7, 11, 16, 21]) {
      const text = hostileTexts[i]!, { id } = (await lake.pools()).find((p) => p.name === text)!;
      await page.goto(`${service.address}/#/pool/${id}`);
      await page.locator('.row.commit').first().waitFor();
      await page.getByRole('tab', { name: 'Data objects' }).click();
      await page.locator('.row.object').first().waitFor();
      await page.getByRole('tab', { name: /Branches/ }).click();
      await button(page, 'Delete pool').click();
      await page.getByLabel(/to confirm/).waitFor();
      await clean();
      await page.keyboard.press('Escape');
      await page.getByRole('tab', { name: 'Commits' }).click();
    }
    await page.goto(`${service.address}/#/events`);
    await lake.pool(hostileTexts[0]!).branch('main').insert([{ a: 1n }]);
    await page.locator('.row.event').filter({ hasText: '<img src=x' }).first().waitFor();
    await clean();
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(faults).toEqual([]);
    await page.close();
  });

  test('the lines for curl do what they say, whatever the names are', async () => {
    const run = (line: string, cwd?: string): string => execFileSync('bash', ['-c', line], { encoding: 'utf8', ...(cwd !== undefined && { cwd }) });
    const { page } = await open();
    for (const name of ['plain', 'it\'s $(touch pwned) `id` "quoted" \\', 'ünï©ode \u202e👩‍👧', 'a\u0000b\nc']) {
      await button(page, 'New pool').click();
      await page.getByLabel('Name', { exact: true }).fill('');
      // What a field cannot take by typing it takes by pasting.
      await page.evaluate(`document.activeElement.value = ${JSON.stringify(name)}; document.activeElement.dispatchEvent(new Event('input', { bubbles: true }))`);
      const asTyped = name.replace('\n', '');
      await expect.poll(async () => (await curl(page))!.includes('"name":""'), soon).toBe(false);
      const line = (await curl(page))!;
      expect(line).toMatch(/^[\x20-\x7e]+$/);
      expect((JSON.parse(run(line)) as { readonly pool: { readonly name: string } }).pool.name).toBe(asTyped);
      await page.keyboard.press('Escape');
      const { id } = (await lake.pools()).find((p) => p.name === asTyped)!;
      await page.goto(`${service.address}/#/pool/${id}`);
      await button(page, 'Branch').click();
      await page.getByLabel('Name', { exact: true }).fill(name.replaceAll(/[\0\n]/g, ''));
      run((await curl(page))!);
      await page.keyboard.press('Escape');
      expect((await lake.pool(id).branches()).map((b) => b.name).sort()).toEqual(['main', name.replaceAll(/[\0\n]/g, '')].sort());
      await page.goto(`${service.address}/`);
    }
    const folder = mkdtempSync(join(tmpdir(), 'console-'));
    try {
      await page.goto(`${service.address}/#/pool/plain`);
      for (const file of ['it\'s a file.ndjson', '-o.json', '\u202ex é.json']) {
        await button(page, 'Load data').first().click();
        const body = '{"ts":1}\n';
        execFileSync('bash', ['-c', 'cat > "./$1"', 'sh', file], { cwd: folder, input: body });
        await pick(page, file, body);
        await page.locator('dialog .curl code').waitFor();
        expect((JSON.parse(run((await curl(page))!, folder)) as { readonly commit: string }).commit).toMatch(/^0x[0-9a-f]{40}$/);
        await button(page, 'Close').last().click();
      }
      expect(await lake.pool('plain').sums('main')).toMatchObject({ records: 3 });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    await page.close();
  });

  test('small data objects are put together without a change to the records; a pool is renamed and its page follows', async () => {
    const main = (await lake.createPool('many parts', { keys: [['k']] })).branch('main');
    for (let k = 0; k < 4; k++) await main.insert([{ k: BigInt(k) }]);
    const { page, faults } = await open('#/pool/many parts');
    await expect.poll(() => figure(page, 'data objects').textContent(), soon).toBe('4');
    await button(page, 'Compact').click();
    await page.locator('dialog .effect').getByText('4 data objects').waitFor();
    expect(await curl(page)).toMatch(/^curl -sS http\S+\/compact .* -d '\{object_ids:\[(0x[0-9a-f]{40},?){4}\]\}'$/);
    await button(page, 'Compact').last().click();
    await page.getByText('Put 4 data objects together on main.').waitFor();
    await expect.poll(() => figure(page, 'data objects').textContent(), soon).toBe('1');
    expect(await figure(page, 'records').textContent()).toBe('4');
    await button(page, 'Rename pool').click();
    await page.getByLabel('New name').fill('one part');
    await button(page, 'Rename').click();
    await page.getByRole('heading', { name: 'one part' }).waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  test('events come as they happen, pause, and are filtered', async () => {
    const pool = await lake.createPool('watched'), other = await lake.createPool('unwatched');
    const { page, faults } = await open('#/events');
    await pool.branch('main').insert([{ ts: 1n }]);
    await other.branch('main').insert([{ ts: 1n }]);
    await page.locator('.row.event').filter({ hasText: 'unwatched @ main' }).waitFor();
    await page.getByLabel('Filter events by pool or branch').fill('unwatched');
    await expect.poll(() => page.locator('.row.event').count(), soon).toBe(1);
    await page.getByLabel('Filter events by pool or branch').fill('');
    await button(page, 'Pause').click();
    await pool.createBranch('side', await pool.branch('main').tip());
    await page.getByText('Paused, 1 newer').waitFor();
    expect(await page.locator('.row.event').filter({ hasText: 'Branch made' }).count()).toBe(0);
    await button(page, 'Resume').click();
    await page.locator('.row.event').filter({ hasText: 'Branch made' }).waitFor();
    await page.getByRole('listbox', { name: 'Events, newest first' }).focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'watched' }).waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  test('by keyboard alone: a pool is made, opened, its commits walked through, and it is deleted', async () => {
    const { page, faults } = await open();
    await page.locator('.pools').waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    await page.keyboard.press('Enter');
    for (let i = 0; i < 3 && (await page.evaluate('document.activeElement.textContent')) !== 'New pool'; i++) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('dialog input:focus').waitFor();
    await page.keyboard.type('by hand');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'by hand' }).waitFor();
    const main = lake.pool('by hand').branch('main'), commits: string[] = [];
    for (let i = 0; i < 3; i++) commits.push((await main.insert([{ ts: BigInt(i) }], { message: `number ${i}` })).commit);
    await commit(page, 'number 2').waitFor();
    await page.getByRole('listbox', { name: 'Commits, newest first' }).focus();
    await page.keyboard.press('End');
    await page.locator('.details').getByText('number 0').waitFor();
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.getByText(/The pool as it was at/).waitFor();
    expect(page.url()).toContain(commits[1]!);
    await page.getByRole('tab', { name: 'Commits' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.locator('.row.object').first().waitFor();
    await button(page, 'Delete pool').focus();
    await page.keyboard.press('Enter');
    await page.locator('dialog input:focus').waitFor();
    await page.keyboard.type('by hand');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^Pools/ }).waitFor();
    expect((await lake.pools()).some((p) => p.name === 'by hand')).toBe(false);
    expect(faults).toEqual([]);
    await page.close();
  });

  test('a long history is drawn a screen at a time, and read as one scrolls', async () => {
    const pool = await lake.createPool('long', { keys: [['k']] }), main = pool.branch('main');
    for (let i = 0; i < 13; i++) await Promise.all(Array.from({ length: 32 }, (_, at) => main.insert([{ k: BigInt(i * 32 + at) }])));
    const { page } = await open('#/pool/long');
    await page.locator('.row.commit').first().waitFor();
    await page.getByRole('listbox', { name: 'Commits, newest first' }).focus();
    await expect.poll(async () => {
      await page.keyboard.press('End');
      return page.locator('.row.commit').first().getAttribute('aria-setsize');
    }, { timeout: 10_000 }).toBe('416');
    await page.keyboard.press('End');
    await page.locator('.row.commit[aria-selected=true][aria-posinset="416"]').waitFor();
    expect(await page.locator('.row.commit').count()).toBeLessThan(60);
    expect(await page.locator('.details').textContent()).toContain('the first commit');
    await page.close();
  });

  test('axe-core finds nothing serious on any page, in both themes, wide and narrow', async () => {
    const pool = await lake.createPool('looked at', { keys: [['k']] }), main = pool.branch('main');
    await main.insert([{ k: 1n }], { author: 'ann', message: 'first' });
    const side = await pool.createBranch('side', await main.tip());
    await side.insert([{ k: 2n }]);
    await main.insert([{ k: 3n }]);
    await main.merge('side');
    const states: readonly (readonly [name: string, hash: string, show: (page: Page) => Promise<void>])[] = [
      ['pools', '#/pools', async (page) => { await page.locator('.pools').waitFor(); }],
      ['commits', '#/pool/looked at', async (page) => { await page.locator('.row.commit').nth(2).click(); }],
      ['merge', '#/pool/looked at', async (page) => { await button(page, 'Merge').click(); await page.locator('.effect').waitFor(); }],
      ['objects', '#/pool/looked at', async (page) => { await page.keyboard.press('Escape'); await page.getByRole('tab', { name: 'Data objects' }).click(); await page.locator('.row.object').first().click(); }],
      ['branches', '#/pool/looked at', async (page) => { await page.getByRole('tab', { name: /Branches/ }).click(); }],
      ['load', '#/pool/looked at', async (page) => {
        await button(page, 'Load data').click();
        await pick(page, 'a.ndjson', '{"a":1}\n{"a":}\n');
        await button(page, /^Load file/).click();
        await page.locator('.fault-place').waitFor();
      }],
      ['events', '#/events', async (page) => {
        await page.keyboard.press('Escape');
        await page.waitForURL(/events/);
        await main.insert([{ k: 4n }]);
        await page.locator('.row.event').first().click();
      }],
    ];
    for (const { width, height } of [{ width: 1440, height: 900 }, { width: 360, height: 740 }]) {
      const { page } = await open('#/pools', { width, height });
      for (const [name, hash, show] of states) {
        if (!page.url().endsWith(hash.replaceAll(' ', '%20'))) await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
        await show(page);
        for (const theme of ['light', 'dark']) {
          await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
          expect(await seriousFindings(page), `${name} ${width} ${theme}`).toEqual([]);
        }
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), `${name} is wider than the screen of ${width}`).toBeLessThanOrEqual(0);
      }
      await page.close();
    }
  });

  test('behind a path prefix everything works', async () => {
    const proxy = await startPrefixProxy(new URL(service.address));
    await lake.createPool('prefixed');
    const { page, faults } = await open('#/pool/prefixed', { url: proxy.url });
    await button(page, 'Load data').first().click();
    await pick(page, 'a.sup', '{ts:1}');
    await button(page, 'Load file').click();
    await button(page, 'Show the pool').click();
    await expect.poll(() => figure(page, 'records').textContent(), soon).toBe('1');
    await page.getByRole('link', { name: 'Query', exact: true }).last().click();
    await page.locator('.query-place > *').first().waitFor();
    expect(await page.evaluate('document.querySelector(".top nav .away").href')).toBe(`${proxy.url}/inspect`);
    expect(faults).toEqual([]);
    await page.close();
    proxy.close();
  });

  test('API clients get at / what they got before the console, browsers a page that runs nothing from elsewhere', async () => {
    const forClients = await fetch(`${service.address}/`), forBrowsers = await fetch(`${service.address}/`, { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } });
    expect(await forClients.text()).toContain('<h1>Lake data service');
    expect(await forBrowsers.text()).toContain('<div id="page">');
    expect(forBrowsers.headers.get('vary')).toContain('Accept');
    const policy = forBrowsers.headers.get('content-security-policy')!;
    expect(policy).toContain('default-src \'self\'');
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  });

  test('each page is less than 500 kB compressed, all of its parts together', () => {
    const folder = join(dirname(program), '../visualize');
    const pages = readdirSync(folder).filter((name) => name.endsWith('.html'));
    expect(pages).toContain('console.html');
    for (const name of pages) {
      const files = new Set<string>(), read = (path: string): void => {
        if (files.has(path)) return;
        files.add(path);
        for (const [, part] of readFileSync(join(folder, path), 'utf8').matchAll(/(?:assets\/|["'`]\.\/)([\w.-]+-[\w-]{8}\.(?:js|css|svg))/g)) read(join('assets', part!));
      };
      read(name);
      const size = [...files].reduce((sum, path) => sum + gzipSync(readFileSync(join(folder, path))).length, 0);
      expect(files.size, name).toBeGreaterThan(2);
      expect(size, `${name}: ${[...files].join(' ')}`).toBeLessThan(500_000);
    }
  });

  describe('with access control', () => {
    let guarded: Service;
    const keys = new Map<string, string>();
    beforeAll(async () => {
      guarded = await startBuiltService({ flags: ['-workers', '1', '-auth.keys'] });
      const roles = { reader: ['reader'], writer: ['writer'], admin: ['admin'], guest: ['reader:open'] };
      for (const [name, grants] of Object.entries(roles)) keys.set(name, execFileSync(process.execPath, [program, 'key', 'add', '-lake', guarded.lake, ...grants.flatMap((grant) => ['-role', grant]), name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim());
      const admin = connect(guarded.address, { token: keys.get('admin')! });
      await isKnown(keys.get('admin')!);
      for (const name of ['open', 'closed']) await (await admin.createPool(name, { keys: [['k']] })).branch('main').insert([{ k: 1n }, { k: 2n }]);
    });
    afterAll(async () => { await guarded?.stop(); });

    /** The service sees new keys within a second. */
    const isKnown = async (token: string): Promise<void> => {
      for (let tries = 0; tries < 100; tries++) {
        if (await connect(guarded.address, { token }).identity().then(() => true, () => false)) return;
        await new Promise((resolve) => { setTimeout(resolve, 100); });
      }
      throw new Error('the key is not known');
    };
    const signIn = async (page: Page, who: string): Promise<void> => {
      await page.getByLabel('Key or token').fill(keys.get(who) ?? who);
      await button(page, 'Sign in').click();
    };

    test('one signs in with a key; each role is offered what it may do; one signs out', async () => {
      const { page, faults } = await open('#/pool/open', { url: guarded.address, wait: false });
      await page.getByRole('heading', { name: 'Sign in to the lake' }).waitFor();
      expect(await seriousFindings(page)).toEqual([]);
      await signIn(page, 'lake_000000000000_0000000000000000000000000000000000000000000');
      await page.getByRole('alert').waitFor();
      const tools = async (): Promise<readonly string[]> => {
        await page.locator('.row.commit').first().waitFor();
        return await page.evaluate('[...document.querySelectorAll(".pool-head button, .tools button")].map((one) => one.ariaLabel ?? one.textContent)') as readonly string[];
      };
      const offered: Readonly<Record<string, readonly string[]>> = {
        reader: [], writer: ['Load data', 'Branch', 'Delete records'], admin: ['Load data', 'Branch', 'Delete records', 'Vacuum', 'Rename pool', 'Delete pool'],
      };
      for (const [who, names] of Object.entries(offered)) {
        await signIn(page, who);
        await page.locator('.who').getByText(who).waitFor();
        expect(await tools(), who).toEqual(names);
        await button(page, /Sign out/).click();
        await page.getByRole('heading', { name: 'Sign in to the lake' }).waitFor();
      }
      await signIn(page, 'guest');
      await page.locator('.row.commit').first().waitFor();
      await page.getByRole('link', { name: 'Pools', exact: true }).first().click();
      await page.locator('.pools').waitFor();
      expect(await page.locator('.pools .name').allTextContents()).toEqual(['Pool↑', 'open']);
      expect(await button(page, 'New pool').count()).toBe(0);
      // No trace of a key is left in the browser.
      expect(await page.evaluate('document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)')).not.toContain('lake_');
      expect(faults.filter((fault) => !/40[13]/.test(fault))).toEqual([]);
      await page.close();
    });

    test('a writer loads a file, and a key that is revoked ends in the login page', async () => {
      const key = execFileSync(process.execPath, [program, 'key', 'add', '-lake', guarded.lake, '-role', 'writer', 'passing'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
      await isKnown(key);
      const { page } = await open('#/pool/open', { url: guarded.address, wait: false });
      await signIn(page, key);
      await button(page, 'Load data').first().click();
      await pick(page, 'a.sup', '{k:3}');
      expect(await curl(page)).toContain('-H "Authorization: Bearer $LAKE_TOKEN"');
      await button(page, 'Load file').click();
      await button(page, 'Show the pool').click();
      await expect.poll(() => figure(page, 'records').textContent(), soon).toBe('3');
      execFileSync(process.execPath, [program, 'key', 'revoke', '-lake', guarded.lake, 'passing'], { stdio: 'ignore' });
      await expect.poll(async () => {
        await page.getByRole('link', { name: 'Pools', exact: true }).first().click({ timeout: 1000 }).catch(() => undefined);
        await page.getByRole('link', { name: 'open', exact: true }).click({ timeout: 1000 }).catch(() => undefined);
        return page.getByRole('heading', { name: 'Sign in to the lake' }).count();
      }, { timeout: 15_000 }).toBe(1);
      await page.close();
    });
  });
});
