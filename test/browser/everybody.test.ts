/**
 * The console for everybody: hostile names, the keyboard, contrast and names for screen readers, a path prefix, API
 * clients, access control.
 */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { connect } from '../../src/client/client.ts';
import { changeKeys } from '../../src/commands/key-file.ts';
import { newKey } from '../../src/http/access/keys.ts';
import type { Grant } from '../../src/http/access/roles.ts';
import { program } from '../support/service/built.ts';
import { lacksChromium, seriousFindings } from '../support/chromium.ts';
import { hostileTexts } from '../support/hostile-texts.ts';
import { startPrefixProxy } from '../support/service/prefix-proxy.ts';
import { button, commit, curl, figure, pick, soon, useConsole } from './console-page.ts';

describe.skipIf(lacksChromium())('the console for everybody', () => {
  const pages = useConsole({ guarded: true });

  test('hostile names, authors and messages stay text on every page', async () => {
    for (const [i, text] of hostileTexts.entries()) {
      const pool = await pages.lake.createPool(text, { keys: [[`k${i} ${text.slice(0, 200)}`]] });
      const main = pool.branch('main');
      await main.insert([{ [`k${i} ${text.slice(0, 200)}`]: text }], {
        author: text.slice(0, 3000),
        message: text.slice(0, 3000),
      });
      if (i % 4 === 0) await pool.createBranch(text, await main.tip());
    }
    const { page, faults } = await pages.open();
    await page.locator('.pools .name a').nth(20).waitFor();
    await expect
      .poll(() => page.locator('.pools .name bdi').allTextContents())
      .toEqual(
        expect.arrayContaining([
          '<img src=x onerror=alert(1)>',
          '⟨U+202E⟩evil',
          'a␀b',
          'tab␉and␊line␍',
          '␛[31mred',
          '👩‍👩‍👧‍👦🏳️‍🌈',
          'مرحبا بالعالم',
          `${'x'.repeat(80)}…${'x'.repeat(40)}`,
        ]),
      );
    // The figures of all of them come, however many are asked for at once.
    await expect.poll(() => page.locator('.pools .number').filter({ hasText: '…' }).count(), soon).toBe(0);
    const clean = async (): Promise<void> => {
      await expect
        .poll(() => page.locator('iframe, img:not(.brand img), script:not([type=module]), [onerror], [onload]').count())
        .toBe(0);
    };
    for (const i of [0, 1, 7, 11, 16, 21]) {
      const text = hostileTexts[i]!;
      const { id } = (await pages.lake.pools()).find((p) => p.name === text)!;
      await page.goto(`${pages.service.address}/#/pool/${id}`);
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
    await page.goto(`${pages.service.address}/#/events`);
    await pages.lake
      .pool(hostileTexts[0]!)
      .branch('main')
      .insert([{ a: 1n }]);
    await page.locator('.row.event').filter({ hasText: '<img src=x' }).first().waitFor();
    await clean();
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(faults).toEqual([]);
    await page.close();
  });

  test('by keyboard alone: a pool is made, opened, its commits walked through, and it is deleted', async () => {
    const { page, faults } = await pages.open();
    // There are no pools yet when this test runs by itself.
    await button(page, 'New pool').waitFor();
    const focused = (): Promise<unknown> => page.evaluate('document.activeElement.textContent');
    await page.keyboard.press('Tab');
    await expect.poll(focused).toBe('Skip to content');
    await page.keyboard.press('Enter');
    for (let i = 0; i < 5 && (await focused()) !== 'New pool'; i++) await page.keyboard.press('Tab');
    expect(await focused()).toBe('New pool');
    await page.keyboard.press('Enter');
    await page.locator('dialog input:focus').waitFor();
    await page.keyboard.type('by hand');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'by hand' }).waitFor();
    const main = pages.lake.pool('by hand').branch('main');
    const commits: string[] = [];
    for (let i = 0; i < 3; i++)
      commits.push((await main.insert([{ ts: BigInt(i) }], { message: `number ${i}` })).commit);
    await commit(page, 'number 2').waitFor();
    await page.getByRole('listbox', { name: 'Commits, newest first' }).focus();
    await page.keyboard.press('End');
    await page.locator('.details').getByText('number 0').waitFor();
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.getByText(/The pool as it was at/).waitFor();
    await expect.poll(() => page.url()).toContain(commits[1]!);
    await page.getByRole('tab', { name: 'Commits' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.locator('.diff-tools').waitFor();
    await page.keyboard.press('ArrowRight');
    await page.locator('.row.object').first().waitFor();
    await button(page, 'Delete pool').focus();
    await page.keyboard.press('Enter');
    await page.locator('dialog input:focus').waitFor();
    await page.keyboard.type('by hand');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^Pools/ }).waitFor();
    expect((await pages.lake.pools()).some((p) => p.name === 'by hand')).toBe(false);
    expect(faults).toEqual([]);
    await page.close();
  });

  test('axe-core finds nothing serious on any page, in both themes, wide and narrow', async () => {
    const pool = await pages.lake.createPool('looked at', { keys: [['k']] });
    const main = pool.branch('main');
    await main.insert([{ k: 1n }], { author: 'ann', message: 'first' });
    const side = await pool.createBranch('side', await main.tip());
    await side.insert([{ k: 2n }]);
    await main.insert([{ k: 3n }]);
    await main.merge('side');
    const states: readonly (readonly [name: string, hash: string, show: (page: Page) => Promise<void>])[] = [
      [
        'pools',
        '#/pools',
        async (page) => {
          await page.locator('.pools').waitFor();
        },
      ],
      [
        'commits',
        '#/pool/looked at',
        async (page) => {
          await page.locator('.row.commit').nth(2).click();
        },
      ],
      [
        'merge',
        '#/pool/looked at',
        async (page) => {
          await button(page, 'Merge').click();
          await page.locator('.effect').waitFor();
        },
      ],
      [
        'objects',
        '#/pool/looked at',
        async (page) => {
          await page.keyboard.press('Escape');
          await page.getByRole('tab', { name: 'Data objects' }).click();
          await page.locator('.row.object').first().click();
        },
      ],
      [
        'branches',
        '#/pool/looked at',
        async (page) => {
          await page.getByRole('tab', { name: /Branches/ }).click();
        },
      ],
      [
        'load',
        '#/pool/looked at',
        async (page) => {
          await button(page, 'Load data').click();
          await pick(page, 'a.ndjson', '{"a":1}\n{"a":}\n');
          await button(page, /^Load file/).click();
          await page.locator('.fault-place').waitFor();
        },
      ],
      [
        'events',
        '#/events',
        async (page) => {
          await page.keyboard.press('Escape');
          await page.waitForURL(/events/);
          await main.insert([{ k: 4n }]);
          await page.locator('.row.event').first().click();
        },
      ],
    ];
    for (const { width, height } of [
      { width: 1440, height: 900 },
      { width: 360, height: 740 },
    ]) {
      const { page } = await pages.open('#/pools', { width, height });
      for (const [name, hash, show] of states) {
        if (!page.url().endsWith(hash.replaceAll(' ', '%20')))
          await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
        await show(page);
        // The themes differ in colours alone.
        for (const theme of ['light', 'dark'] as const) {
          await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
          expect(
            await seriousFindings(page, theme === 'light' ? undefined : ['color-contrast']),
            `${name} ${width} ${theme}`,
          ).toEqual([]);
        }
        await expect
          .poll(() => page.evaluate('document.documentElement.scrollWidth - innerWidth'), {
            message: `${name} is wider than the screen of ${width}`,
          })
          .toBeLessThanOrEqual(0);
      }
      await page.close();
    }
  });

  test('behind a path prefix everything works', async () => {
    const proxy = await startPrefixProxy(new URL(pages.service.address));
    await pages.lake.createPool('prefixed');
    const { page, faults } = await pages.open('#/pool/prefixed', { url: proxy.url });
    await button(page, 'Load data').first().click();
    await pick(page, 'a.sup', '{ts:1}');
    await button(page, 'Load file').click();
    await button(page, 'Show the pool').click();
    await expect.poll(() => figure(page, 'records').textContent(), soon).toBe('1');
    await page.getByRole('link', { name: 'Query', exact: true }).last().click();
    await page.locator('.query-place > *').first().waitFor();
    await expect
      .poll(() => page.evaluate('document.querySelector(".top nav .away").href'))
      .toBe(`${proxy.url}/inspect`);
    expect(faults).toEqual([]);
    await page.close();
    proxy.close();
  });

  test('API clients get at / what they got before the console, browsers a page that runs nothing from elsewhere', async () => {
    const forClients = await fetch(`${pages.service.address}/`);
    const forBrowsers = await fetch(`${pages.service.address}/`, {
      headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
    });
    await expect.poll(() => forClients.text()).toContain('<h1>Lake data service');
    await expect.poll(() => forBrowsers.text()).toContain('<div id="page">');
    expect(forBrowsers.headers.get('vary')).toContain('Accept');
    const policy = forBrowsers.headers.get('content-security-policy')!;
    expect(policy).toContain("default-src 'self'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  });

  test('each page is less than 500 kB compressed, all of its parts together', () => {
    const folder = join(dirname(program), '../visualize');
    const pages = readdirSync(folder).filter((name) => name.endsWith('.html'));
    expect(pages).toContain('console.html');
    for (const name of pages) {
      const files = new Set<string>();
      const read = (path: string): void => {
        if (files.has(path)) return;
        files.add(path);
        for (const [, part] of readFileSync(join(folder, path), 'utf8').matchAll(
          /(?:assets\/|["'`]\.\/)([\w.-]+-[\w-]{8}\.(?:js|css|svg))/g,
        ))
          read(join('assets', part!));
      };
      read(name);
      const size = [...files].reduce((sum, path) => sum + gzipSync(readFileSync(join(folder, path))).length, 0);
      expect(files.size, name).toBeGreaterThan(2);
      expect(size, `${name}: ${[...files].join(' ')}`).toBeLessThan(500_000);
    }
  });

  describe('with access control', () => {
    const keys = new Map<string, string>();
    /** As `lake key add` does it. */
    const addKey = (name: string, grants: readonly Grant[]): void => {
      const { text, record } = newKey({ name, grants });
      changeKeys(pages.guarded.lake, (all) => [...all, record]);
      keys.set(name, text);
    };
    beforeAll(async () => {
      for (const role of ['reader', 'writer', 'admin'] as const) addKey(role, [{ role }]);
      addKey('guest', [{ role: 'reader', pool: 'open' }]);
      // The service sees new keys when they are first used.
      const admin = connect(pages.guarded.address, { token: keys.get('admin')! });
      for (const name of ['open', 'closed'])
        await (await admin.createPool(name, { keys: [['k']] })).branch('main').insert([{ k: 1n }, { k: 2n }]);
    });

    const signIn = async (page: Page, who: string): Promise<void> => {
      await page.getByLabel('Key or token').fill(keys.get(who) ?? who);
      await button(page, 'Sign in').click();
    };

    test('one signs in with a key; each role is offered what it may do; one signs out', async () => {
      const { page, faults } = await pages.open('#/pool/open', { url: pages.guarded.address, wait: false, own: true });
      await page.getByRole('heading', { name: 'Sign in to the lake' }).waitFor();
      expect(await seriousFindings(page)).toEqual([]);
      await signIn(page, 'lake_000000000000_0000000000000000000000000000000000000000000');
      await page.getByRole('alert').waitFor();
      const tools = async (): Promise<readonly string[]> => {
        await page.locator('.row.commit').first().waitFor();
        return (await page.evaluate(
          '[...document.querySelectorAll(".pool-head button, .tools button")].map((one) => one.ariaLabel ?? one.textContent)',
        )) as readonly string[];
      };
      const offered: Readonly<Record<string, readonly string[]>> = {
        reader: ['Read it from …'],
        writer: ['Read it from …', 'Add data', 'Load data', 'Branch', 'Delete records'],
        admin: [
          'Read it from …',
          'Add data',
          'Load data',
          'Branch',
          'Delete records',
          'Vacuum',
          'Rename pool',
          'Delete pool',
        ],
      };
      for (const [who, names] of Object.entries(offered)) {
        await signIn(page, who);
        await page.locator('.who').getByText(who).waitFor();
        await expect.poll(() => tools(), { message: who }).toEqual(names);
        await button(page, /Sign out/).click();
        await page.getByRole('heading', { name: 'Sign in to the lake' }).waitFor();
      }
      await signIn(page, 'guest');
      await page.locator('.row.commit').first().waitFor();
      await page.getByRole('link', { name: 'Pools', exact: true }).first().click();
      await page.locator('.pools').waitFor();
      await expect.poll(() => page.locator('.pools .name').allTextContents()).toEqual(['Pool', 'open']);
      await expect.poll(() => button(page, 'New pool').count()).toBe(0);
      // No trace of a key is left in the browser.
      await expect
        .poll(() => page.evaluate('document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)'))
        .not.toContain('lake_');
      expect(faults.filter((fault) => !/40[13]/.test(fault))).toEqual([]);
      await page.close();
    });

    test('a list that was asked for one session is not shown to the next', async () => {
      const { page, faults } = await pages.open('#/pools', { url: pages.guarded.address, wait: false, own: true });
      await signIn(page, 'admin');
      await expect.poll(() => page.locator('.pools .name').count(), soon).toBe(3);
      await page.getByText('Live', { exact: true }).waitFor();
      // The answers to this session wait until the next has begun.
      const held: (() => void)[] = [];
      let holding = true;
      let released = 0;
      await page.route(/\/query\b/, async (route) => {
        if (!holding) {
          await route.continue();
          return;
        }
        const answer = await route.fetch();
        await new Promise<void>((resolve) => held.push(resolve));
        await route.fulfill({ response: answer });
        released++;
      });
      const admin = connect(pages.guarded.address, { token: keys.get('admin')! });
      await (await admin.createPool('passing by', { keys: [['k']] })).delete();
      await expect.poll(() => held.length, soon).toBeGreaterThan(2);
      holding = false;
      await button(page, /Sign out/).click();
      await signIn(page, 'guest');
      await expect.poll(() => page.locator('.pools .name').allTextContents(), soon).toEqual(['Pool', 'open']);
      const all = held.length;
      for (const release of held) release();
      await expect.poll(() => released, soon).toBe(all);
      // Two frames on, whatever came is drawn.
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      expect(await page.locator('.pools .name').allTextContents()).toEqual(['Pool', 'open']);
      // 404: the pool that came went before its figures were asked for.
      expect(faults.filter((fault) => !/40[134]/.test(fault))).toEqual([]);
      await page.close();
    });

    test('an admin makes a pool a table; whoever reads it is shown the lines for other engines', async () => {
      const { page, faults } = await pages.open('#/pool/open', { url: pages.guarded.address, wait: false, own: true });
      const read = async (): Promise<void> => {
        await page.locator('.row.commit').first().waitFor();
        await button(page, 'Read it from …').click();
      };
      const line = (): Promise<string> => page.locator('dialog .curl code').last().innerText();
      await signIn(page, 'reader');
      await read();
      await page.getByText('An admin of the pool can make it one.').waitFor();
      expect(await button(page, 'Make it a table').count()).toBe(0);
      await page.keyboard.press('Escape');
      await button(page, /Sign out/).click();
      await signIn(page, 'admin');
      await read();
      await button(page, 'Make it a table').waitFor();
      await expect.poll(line).toContain('-d \'{"iceberg":"lazy"}\'');
      await page.getByLabel('Fields with values of several kinds', { exact: true }).selectOption('variant');
      await expect.poll(line).toContain('-d \'{"iceberg":"lazy","iceberg_mapping":"variant"}\'');
      await button(page, 'Make it a table').click();
      await page.getByText('KEY stands for').waitFor();
      await page.getByLabel('Engine', { exact: true }).selectOption('DuckDB');
      await expect.poll(line).toContain("CLIENT_SECRET 'KEY'");
      expect(await line()).toContain(`ENDPOINT '${pages.guarded.address}/iceberg'`);
      expect(await line()).toMatch(/^FROM lake\.lake\."open";$/m);
      expect(await seriousFindings(page)).toEqual([]);
      await page.keyboard.press('Escape');
      const admin = connect(pages.guarded.address, { token: keys.get('admin')! });
      const tip = (await admin.pool('open').branches())[0]!.commit;
      await admin.pool('open').createTag("it's", tip);
      await page.getByLabel('Branch', { exact: true }).selectOption("it's");
      await read();
      await expect.poll(line).toContain("ATTACH 'lake@it''s' AS lake");
      await page.getByLabel('Engine', { exact: true }).selectOption('Trino');
      await expect.poll(line).toBe(`SELECT * FROM lake.lake."open" FOR VERSION AS OF 'it''s';`);
      await page.keyboard.press('Escape');
      // Who does not read what is there of a table is told so.
      const kinds = await admin.createPool('kinds', { keys: [['k']] });
      await kinds.branch('main').insert([
        { k: 1, mixed: 'a' },
        { k: 2, mixed: 3 },
      ]);
      const headers = { authorization: `Bearer ${keys.get('admin')}`, 'content-type': 'application/json' };
      const send = (path: string, init?: RequestInit): Promise<Response> =>
        fetch(pages.guarded.address + path, { ...init, headers });
      await send('/pool/kinds', { method: 'PUT', body: '{"iceberg":"lazy","iceberg_mapping":"variant"}' });
      expect((await send('/iceberg/v1/lake/namespaces/lake/tables/kinds')).status).toBe(200);
      await page.goto(`${pages.guarded.address}/#/pool/kinds`);
      await read();
      const unread = page.getByText('This table has a column of variants');
      await expect.poll(() => unread.textContent()).toContain('which Trino does not read');
      await page.getByLabel('Engine', { exact: true }).selectOption('DuckDB');
      await expect.poll(() => unread.count()).toBe(0);
      await kinds.delete();
      expect(faults.filter((fault) => !/401/.test(fault))).toEqual([]);
      await page.close();
    });

    test('a writer loads a file, and a key that is revoked ends in the login page, with nothing lost that was typed', async () => {
      addKey('passing', [{ role: 'writer' }]);
      const { page } = await pages.open('#/pool/open', { url: pages.guarded.address, wait: false, own: true });
      await signIn(page, 'passing');
      // The lines for curl leave the token to a variable.
      await button(page, 'Branch').click();
      await page.getByLabel('Name', { exact: true }).fill('by line');
      await promisify(execFile)('bash', ['-c', (await curl(page))!], {
        env: { ...process.env, LAKE_TOKEN: keys.get('passing') },
      });
      await page.keyboard.press('Escape');
      await page.getByRole('tab', { name: 'Branches 2' }).waitFor();
      await button(page, 'Load data').first().click();
      await pick(page, 'a.sup', '{k:3}');
      await expect.poll(() => curl(page)).toContain('-H "Authorization: Bearer $LAKE_TOKEN"');
      await button(page, 'Load file').click();
      await button(page, 'Show the pool').click();
      await expect.poll(() => figure(page, 'records').textContent(), soon).toBe('3');
      // A question that is being written when the session ends is there again after the next one has begun.
      await page.getByRole('link', { name: 'Query', exact: true }).first().click();
      await page.getByRole('textbox', { name: 'Query' }).click();
      await page.keyboard.insertText('from open | where k >');
      changeKeys(pages.guarded.lake, (all) => all.filter(({ name }) => name !== 'passing'));
      // The feed of events is told, or the next check of the text is refused.
      await page.getByRole('heading', { name: 'Sign in to the lake' }).waitFor(soon);
      await signIn(page, 'reader');
      await page.getByText('Live', { exact: true }).waitFor();
      await expect.poll(() => page.getByRole('textbox', { name: 'Query' }).innerText()).toBe('from open | where k >');
      await expect.poll(() => page.locator('.run-status').count()).toBe(0);
      await page.close();
    });

    test("the lines for curl of the API's page take the token from the same variable", async () => {
      const { page } = await pages.open('docs#api', { url: pages.guarded.address, wait: false, own: true });
      await expect
        .poll(() => page.locator('#getBranch .copyable pre').textContent())
        .toContain('-H "Authorization: Bearer $LAKE_TOKEN"');
      await page.close();
    });
  });
});
