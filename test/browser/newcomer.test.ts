/** The console as somebody meets it who has never seen it: what they try first, and where they looked twice. */
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { lacksChromium, seriousFindings } from '../support/chromium.ts';
import { commit, curl, pick, toPools, useConsole } from './console-page.ts';
import { drop } from './hand.ts';

describe.skipIf(lacksChromium())('a newcomer', () => {
  const pages = useConsole();

  describe('on the page of a pool', () => {
    const tags = (page: Page, name: string) => page.locator('.row.commit .tag').getByText(name, { exact: true });

    test('a branch that went on from main is one line with it', async () => {
      const pool = await pages.lake.createPool('one line', { keys: [['k']] });
      const main = pool.branch('main');
      await main.insert([{ k: 1n }], { message: 'first' });
      await main.insert([{ k: 2n }], { message: 'second' });
      const ahead = await pool.createBranch('ahead', await main.tip());
      await ahead.insert([{ k: 3n }], { message: 'third' });
      await ahead.insert([{ k: 4n }], { message: 'fourth' });
      const { page, faults } = await pages.open('#/pool/one line');
      await commit(page, 'fourth').waitFor();
      const lanes = async (): Promise<readonly (string | null)[]> =>
        page.locator('.row.commit circle').evaluateAll((all) => all.map((each) => each.getAttribute('cx')));
      await expect.poll(lanes).toEqual(['10', '10', '10', '10']);
      await expect.poll(() => commit(page, 'second').locator('.tag').allTextContents()).toEqual(['main']);
      // Where both went on there are two lines.
      await main.insert([{ k: 5n }], { message: 'fifth' });
      await commit(page, 'fifth').waitFor();
      await expect.poll(lanes).toEqual(['10', '26', '26', '10', '10']);
      expect(faults).toEqual([]);
      await page.close();
    });

    test('a branch keeps its label while its newest commit is on its way', async () => {
      const pool = await pages.lake.createPool('moving', { keys: [['k']] });
      await pool.branch('main').insert([{ k: 1n }], { message: 'before' });
      const { page } = await pages.open('#/pool/moving');
      await commit(page, 'before').waitFor();
      let answer = (): void => undefined;
      const wanted = new Promise<void>((asked) => {
        void page.route(/\/graph/, async (route) => {
          await new Promise<void>((go) => {
            answer = go;
            asked();
          });
          await route.continue();
        });
      });
      await pool.branch('main').insert([{ k: 2n }], { message: 'after' });
      await wanted;
      // The page knows of the tip, and has not got it.
      await expect.poll(() => tags(page, 'main').count()).toBe(1);
      await expect.poll(() => commit(page, 'before').locator('.tag').allTextContents()).toEqual(['main']);
      answer();
      await expect.poll(() => commit(page, 'after').locator('.tag').allTextContents()).toEqual(['main']);
      await expect.poll(() => tags(page, 'main').count()).toBe(1);
      await page.close();
    });
  });

  test('long names of pools and branches stay within a screen of 360 pixels, and their ends tell them apart', async () => {
    const long = `feature/${'made-by-a-script-'.repeat(10)}`;
    const pool = await pages.lake.createPool(`a pool ${'with-a-long-name-'.repeat(8)}`, { keys: [['k']] });
    const main = pool.branch('main');
    await main.insert([{ k: 1n }], { message: 'first' });
    for (const end of ['one', 'two'])
      await (await pool.createBranch(`${long}${end}`, await main.tip())).insert([{ k: 2n }], { message: end });
    const { id } = (await pages.lake.pools()).find(({ name }) => name.startsWith('a pool with'))!;
    const { page, faults } = await pages.open(`#/pool/${id}`, { width: 360, height: 740 });
    /** What is drawn beyond the screen, but where it can be scrolled to. */
    const beyond = (): Promise<unknown> =>
      page.evaluate(`[...document.querySelectorAll('#content *, dialog *')].filter((each) => {
        const { width, right } = each.getBoundingClientRect();
        return width > 0 && right > innerWidth + 1 && !each.closest('.scroll, .tabs, .table-panel, .row, pre, svg');
      }).map((each) => each.outerHTML.slice(0, 120))`);
    const check = async (what: string): Promise<void> => {
      await expect.poll(beyond, { message: what }).toEqual([]);
    };
    await commit(page, 'first').waitFor();
    await check('pool');
    const branch = page.getByLabel('Branch', { exact: true });
    await expect
      .poll(() => branch.locator('option').allTextContents())
      .toEqual(['main', expect.stringMatching(/^feature.*….*-one$/), expect.stringMatching(/^feature.*….*-two$/)]);
    await branch.selectOption({ index: 2 });
    await commit(page, 'two').locator('.tag').waitFor();
    await check('branch');
    await page.getByRole('tab', { name: /Branches/ }).click();
    await page
      .getByRole('button', { name: /^Delete branch/ })
      .nth(1)
      .waitFor();
    await check('branches');
    for (const name of ['Merge', 'Branch', 'Load data', 'Delete records', 'Vacuum']) {
      await page.getByRole('button', { name, exact: true }).first().click();
      await page.locator('dialog[open]').waitFor();
      await check(name);
      if (name === 'Merge')
        await expect
          .poll(async () => (await page.getByLabel('Merge', { exact: true }).boundingBox())?.width)
          .toBeGreaterThan(250);
      await page.keyboard.press('Escape');
      await page.locator('dialog').waitFor({ state: 'detached' });
    }
    await page.evaluate('location.hash = "#/pools"');
    await page.locator('.pools').waitFor();
    await check('pools');
    await page.evaluate('location.hash = "#/query?text="');
    await page.locator('.starts').waitFor();
    await check('starts');
    expect(faults).toEqual([]);
    await page.close();
  });

  describe('in the editor', () => {
    const editor = (page: Page) => page.getByRole('textbox', { name: 'Query' });
    const options = (page: Page) => page.getByRole('option');
    const written = async (page: Page): Promise<string> =>
      (await editor(page).locator('.cm-line').allTextContents()).join('\n');

    test('the list of completions goes when the query is run, when one leaves, and when its only word stands there', async () => {
      await pages.lake.createPool('completed');
      const { page } = await pages.open('#/query');
      await editor(page).click();
      await page.keyboard.type('from com');
      await options(page).getByText('completed').waitFor();
      await page.keyboard.press('Control+Enter');
      await expect.poll(() => options(page).count()).toBe(0);
      await page.keyboard.type('plet');
      await options(page).getByText('completed').waitFor();
      await page.keyboard.type('ed');
      await expect.poll(() => options(page).count()).toBe(0);
      await page.keyboard.press('Backspace');
      await page.keyboard.press('Control+Space');
      await options(page).getByText('completed').waitFor();
      await page.getByRole('button', { name: 'Help' }).focus();
      await expect.poll(() => options(page).count()).toBe(0);
      // A list that is still being made when the reader leaves does not come afterwards.
      await pages.lake.createPool('asked');
      let release = (): void => undefined;
      const released = new Promise<void>((go) => {
        release = go;
      });
      const wanted = new Promise<void>((asked) => {
        void page.route(/\/query\?/, async (route) => {
          asked();
          await released;
          await route.continue();
        });
      });
      await editor(page).focus();
      await page.keyboard.press('Control+A');
      await page.keyboard.type('from asked | where t');
      await wanted;
      await page.getByRole('button', { name: 'Help' }).focus();
      release();
      // What was asked may be cancelled by then, and has no answer.
      await page.evaluate("fetch('/version').then((answer) => answer.text())");
      await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
      await expect.poll(() => options(page).count()).toBe(0);
      await page.close();
    });

    test('whatever is written over a selection, the content security policy has nothing to refuse', async () => {
      const text = 'from editing | where kind == "http" | count() by status';
      await pages.lake.createPool('editing');
      const { page, faults } = await pages.open(`#/query?${new URLSearchParams({ text }).toString()}`);
      await editor(page).click();
      await expect.poll(() => written(page)).toBe(text);
      await page.keyboard.press('Control+A');
      await page.keyboard.type('from editing');
      await expect.poll(() => written(page)).toBe('from editing');
      await page.keyboard.press('Control+A');
      for (const key of ['Control+B', 'Control+I', 'Control+U']) await page.keyboard.press(key);
      await expect.poll(() => written(page)).toBe('from editing');
      // What is selected can be put into brackets.
      await page.keyboard.press('Control+A');
      await page.keyboard.type('(');
      await expect.poll(() => written(page)).toBe('(from editing)');
      await page.keyboard.press('Control+Z');
      await expect.poll(() => written(page)).toBe('from editing');
      // An input method writes over a selection too.
      const devices = await page.context().newCDPSession(page);
      await page.keyboard.press('Control+A');
      await devices.send('Input.imeSetComposition', { text: 'にほ', selectionStart: 2, selectionEnd: 2 });
      await devices.send('Input.insertText', { text: '日本' });
      await expect.poll(() => written(page)).toBe('日本');
      await page.keyboard.press('Control+A');
      await page.keyboard.insertText(text);
      await expect.poll(() => written(page)).toBe(text);
      expect(faults.filter((fault) => /polic/i.test(fault))).toEqual([]);
      await page.close();
    });
  });

  describe('in the table of an answer', () => {
    const cell = (page: Page, row: number, column: number) => page.locator(`#cell-${row}-${column}`);
    /** Of all columns and rows that are wholly in sight, the last ones. */
    const lastInSight = async (page: Page): Promise<{ readonly row: number; readonly column: number }> =>
      (await page.evaluate(`(() => {
        const box = document.querySelector('.grid').getBoundingClientRect();
        const all = [...document.querySelectorAll('.grid-row:not([hidden]) .cell')].filter((cell) => {
          const at = cell.getBoundingClientRect();
          return at.right <= box.right - 16 && at.bottom <= Math.min(box.bottom, innerHeight) - 16;
        });
        const [, row, column] = all.at(-1).id.split('-').map(Number);
        return { row, column };
      })()`)) as { readonly row: number; readonly column: number };
    /** Whether a cell is wholly in sight. */
    const isInSight = async (page: Page, row: number, column: number): Promise<boolean> =>
      (await page.evaluate(`(() => {
        const at = document.querySelector('#cell-${row}-${column}')?.getBoundingClientRect();
        const box = document.querySelector('.grid').getBoundingClientRect();
        return at !== undefined && at.left >= box.left && at.right <= box.right + 1 && at.top >= box.top && at.bottom <= Math.min(box.bottom, innerHeight) + 1;
      })()`)) as boolean;

    const wide = async (columns: number): Promise<string> => {
      const name = `wide ${columns}`;
      const fields = Array.from({ length: columns }, (_, i) => `sensor_${i}:${i}`).join(',');
      const pool = await pages.lake.createPool(name, { keys: [['k']] });
      await pool.branch('main').load(Array.from({ length: 100 }, (_, k) => `{k:${k},${fields}}`).join('\n'), {
        format: 'sup',
      });
      return `#/query?${new URLSearchParams({ pool: name }).toString()}`;
    };

    test('the pane of a row leaves the cell that opened it in sight; a button opens it too', async () => {
      const hash = await wide(30);
      for (const [width, height] of [
        [1280, 800],
        [768, 1024],
        [360, 740],
      ] as const) {
        const { page, faults } = await pages.open(hash, { width, height });
        await cell(page, 0, 1).waitFor();
        await page.locator('.answer').evaluate((answer) => {
          (answer as unknown as { scrollIntoView: () => void }).scrollIntoView();
        });
        const { row, column } = await lastInSight(page);
        await cell(page, row, column).dblclick();
        await page.getByRole('tree').waitFor();
        await expect.poll(() => isInSight(page, row, column), { message: `${row} ${column} at ${width}` }).toBe(true);
        await expect.poll(() => page.getByRole('heading', { name: `Row ${row + 1}` }).isVisible()).toBe(true);
        await page.getByRole('button', { name: 'Row', exact: true }).click();
        await expect.poll(() => page.getByRole('tree').count()).toBe(0);
        await page.getByRole('button', { name: 'Row', exact: true }).click();
        await expect.poll(() => isInSight(page, row, column), { message: `${row} ${column} at ${width}` }).toBe(true);
        expect(faults).toEqual([]);
        await page.close();
      }
    });

    test('one of 1,500 columns is found by a part of its name, led to, and shown alone', async () => {
      const { page, faults } = await pages.open(await wide(1500));
      await cell(page, 0, 1).waitFor();
      const columns = page.getByRole('button', { name: /^Columns/ });
      await columns.click();
      const search = page.getByRole('searchbox', { name: /^Find a column/ });
      await expect.poll(() => search.evaluate((input) => input === input.ownerDocument.activeElement)).toBe(true);
      await page.keyboard.type('NSOR_123');
      await page.getByText('11 columns found').waitFor();
      await page.keyboard.type('4');
      await page.getByText('1 column found').waitFor();
      await page.keyboard.press('Enter');
      await expect.poll(() => page.getByRole('grid').getAttribute('aria-activedescendant')).toBe('cell-0-1236');
      await expect.poll(() => isInSight(page, 0, 1236)).toBe(true);
      await expect.poll(() => cell(page, 0, 1236).innerText()).toBe('1234');
      // The keyboard goes on in the table.
      await page.keyboard.press('ArrowDown');
      await expect.poll(() => page.getByRole('grid').getAttribute('aria-activedescendant')).toBe('cell-1-1236');
      await columns.click();
      await page.getByRole('button', { name: 'Hide 1,501' }).click();
      await search.fill('sensor_77');
      await page.getByRole('button', { name: 'Show 11' }).click();
      await expect.poll(() => columns.innerText()).toBe('Columns (11 of 1,501)');
      await search.fill('nowhere');
      await page.getByText('No column has this in its name.').waitFor();
      await page.keyboard.press('Escape');
      await expect
        .poll(() =>
          page.getByRole('columnheader').evaluateAll((all) => all.slice(0, 4).map((each) => each.textContent)),
        )
        .toEqual(['#', 'sensor_77int64', 'sensor_770int64', 'sensor_771int64']);
      expect(faults).toEqual([]);
      await page.close();
    });
  });

  describe('with several questions', () => {
    const editor = (page: Page) => page.getByRole('textbox', { name: 'Query' });
    const written = async (page: Page): Promise<string> =>
      (await editor(page).locator('.cm-line').allTextContents()).join('\n');
    const write = async (page: Page, text: string): Promise<void> => {
      await editor(page).click();
      await page.keyboard.press('Control+A');
      await page.keyboard.insertText(text);
    };
    const run = async (page: Page, text: string): Promise<void> => {
      await write(page, text);
      await page.keyboard.press('Control+Enter');
    };
    const first = (page: Page): Promise<string> => page.locator('#cell-0-1').innerText();
    const asked = (page: Page): Record<string, string> =>
      Object.fromEntries(new URLSearchParams(new URL(page.url()).hash.split('?')[1]));

    test('Back and Forward lead from question to question, without a reload and without a query that writes', async () => {
      const pool = await pages.lake.createPool('steps', { keys: [['k']] });
      await pool.branch('main').insert([{ k: 1n }]);
      const side = await pool.createBranch('side', await pool.branch('main').tip());
      await side.insert([{ k: 2n }]);
      const { page, faults } = await pages.open('#/query');
      await page.getByRole('button', { name: 'steps', exact: true }).waitFor();
      await page.evaluate('window.isTheSame = true');
      await page.getByRole('button', { name: 'count() of steps', exact: true }).click();
      await expect.poll(() => first(page)).toBe('1');
      await expect.poll(() => asked(page)).toEqual({ text: 'from steps | count()', pool: 'steps' });
      await run(page, 'from steps@side | count()');
      await expect.poll(() => first(page)).toBe('2');
      await expect
        .poll(() => asked(page))
        .toEqual({ text: 'from steps@side | count()', pool: 'steps', branch: 'side' });
      // Once more is no step.
      await page.keyboard.press('Control+Enter');
      await page.getByRole('tab', { name: 'SUP' }).click();
      await run(page, 'values 3 | load steps');
      await page.getByText('load steps').first().waitFor();
      await expect.poll(async () => (await pool.sums('main')).records).toBe(2);
      const tip = await pool.branch('main').tip();
      await run(page, 'values 4');
      await page.locator('.sup-line').getByText('4', { exact: true }).waitFor();

      await page.goBack();
      await expect.poll(() => written(page)).toBe('values 3 | load steps');
      await page.getByText('of an earlier text').waitFor();
      await page.goBack();
      await expect.poll(() => written(page)).toBe('from steps@side | count()');
      await page.locator('.sup-line').getByText('2', { exact: true }).waitFor();
      await page.getByRole('tab', { name: 'Table' }).click();
      await page.goBack();
      await expect.poll(() => written(page)).toBe('from steps | count()');
      // Two are there by now.
      await expect.poll(() => first(page)).toBe('2');
      await page.goBack();
      await page.getByRole('button', { name: 'count() of steps', exact: true }).waitFor();
      await expect.poll(() => editor(page).locator('.cm-placeholder').count()).toBe(1);
      for (const text of ['from steps | count()', 'from steps@side | count()', 'values 3 | load steps', 'values 4']) {
        await page.goForward();
        await expect.poll(() => written(page)).toBe(text);
      }
      await expect.poll(() => first(page)).toBe('4');
      // Another page, and back to the question as it was left.
      await write(page, 'values 5');
      await page.getByRole('link', { name: 'Events' }).click();
      await page.getByRole('heading', { name: 'Events' }).waitFor();
      await page.goBack();
      await expect.poll(() => written(page)).toBe('values 5');
      expect(await pool.branch('main').tip()).toBe(tip);
      expect(await page.evaluate('window.isTheSame')).toBe(true);
      // After a reload the history is still there.
      await page.reload();
      await expect.poll(() => first(page)).toBe('4');
      await page.goBack();
      await expect.poll(() => written(page)).toBe('values 3 | load steps');
      expect(await pool.branch('main').tip()).toBe(tip);
      expect(faults).toEqual([]);
      await page.close();
    });

    test('a text that is too long for an address leaves the history as it is', async () => {
      const { page } = await pages.open(`#/query?${new URLSearchParams({ text: 'values 1' }).toString()}`);
      await expect.poll(() => first(page)).toBe('1');
      await run(page, `values 2 -- ${'x'.repeat(600_000)}`);
      await expect.poll(() => first(page)).toBe('2');
      await expect.poll(() => new URL(page.url()).hash).toBe('#/query');
      await run(page, 'values 3');
      await expect.poll(() => first(page)).toBe('3');
      await page.goBack();
      await expect.poll(() => new URL(page.url()).hash).toBe('#/query');
      await page.goBack();
      await expect.poll(() => written(page)).toBe('values 1');
      await expect.poll(() => first(page)).toBe('1');
      await page.close();
    });

    test('rows of an earlier text say so, and their text can be brought back', async () => {
      const { page, faults } = await pages.open(`#/query?${new URLSearchParams({ text: 'values 1, 2' }).toString()}`);
      const state = page.locator('.run-status .pill');
      await state.getByText('Done', { exact: true }).waitFor();
      await write(page, 'values 1,2 -- the same');
      await state.getByText('Done', { exact: true }).waitFor();
      await page.keyboard.insertText(' as before\n| count()');
      await state.getByText('Outdated', { exact: true }).waitFor();
      await expect.poll(() => page.locator('.run-status').innerText()).toMatch(/2 rows\s+of an earlier text/);
      await page.getByRole('button', { name: 'Bring it back' }).click();
      await state.getByText('Done', { exact: true }).waitFor();
      await expect.poll(() => written(page)).toBe('values 1, 2');
      await run(page, 'values 3');
      await expect.poll(() => first(page)).toBe('3');
      await state.getByText('Done', { exact: true }).waitFor();
      expect(faults).toEqual([]);
      await page.close();
    });

    test('pools are offered in the order of their use, or as one chooses', async () => {
      for (const name of ['use a', 'use b', 'use c']) await pages.lake.createPool(name);
      const { page, faults } = await pages.open('#/query', { own: true });
      const starts = async (): Promise<readonly string[]> =>
        (await page.locator('.starts .start').allTextContents()).filter((name) => name.startsWith('use'));
      await page.locator('.starts .start').first().waitFor();
      await page.getByLabel('In the order of').selectOption('name');
      await expect.poll(starts).toEqual(['use a', 'use b', 'use c']);
      await page.getByLabel('In the order of').selectOption('age, the newest first');
      await expect.poll(starts).toEqual(['use c', 'use b', 'use a']);
      await page.getByLabel('In the order of').selectOption('last use');
      await run(page, 'from "use b"');
      await page.getByText('The answer has no rows.').waitFor();
      await page.evaluate('location.hash = "#/pool/use c"');
      await page.getByRole('heading', { name: 'use c' }).waitFor();
      await page.evaluate('location.hash = "#/query?text="');
      await expect.poll(async () => (await starts()).slice(0, 3)).toEqual(['use c', 'use b', 'use a']);
      // The list of all pools begins with them too, and another page knows of them.
      await page.goto(`${pages.service.address}/#/pools`);
      await page.reload();
      await page.locator('.pools tbody .name').first().waitFor();
      const names = async (): Promise<readonly string[]> => page.locator('.pools tbody .name').allTextContents();
      await expect.poll(async () => (await names()).slice(0, 2)).toEqual(['use c', 'use b']);
      await page.getByRole('button', { name: 'Pool', exact: true }).click();
      await expect
        .poll(async () => (await names()).filter((name) => name.startsWith('use')))
        .toEqual(['use a', 'use b', 'use c']);
      await page.setViewportSize({ width: 360, height: 740 });
      await page.getByLabel('Order of the pools').selectOption('Last used');
      await expect.poll(async () => (await names()).slice(0, 2)).toEqual(['use c', 'use b']);
      // So does completion.
      await page.evaluate('location.hash = "#/query?text="');
      await editor(page).click();
      await page.keyboard.type('from us');
      await expect
        .poll(async () => (await page.locator('.cm-tooltip').getByRole('option').allTextContents()).slice(0, 2))
        .toEqual(['use cpool', 'use bpool']);
      expect(faults).toEqual([]);
      await page.close();
    });
  });

  describe('with files of their own', () => {
    test('a pool made here has the order that one has without a word, and the dialogs say which', async () => {
      await pages.lake.createPool('by the interface');
      const { page, faults } = await pages.open('#/pools');
      const layoutOf = async (name: string): Promise<unknown> =>
        (await pages.lake.pools()).find((pool) => pool.name === name)?.layout;
      const usual = { order: 'asc', keys: [['ts']] };
      expect(await layoutOf('by the interface')).toEqual(usual);
      for (const [name, order] of [
        ['by the dialog', undefined],
        ['the newest first', 'desc'],
      ] as const) {
        await page.getByRole('button', { name: 'New pool' }).click();
        await page.getByLabel('Name', { exact: true }).fill(name);
        const choice = page.getByLabel('Order', { exact: true });
        await expect.poll(() => choice.locator('option:checked').textContent()).toBe('asc: the least first');
        await expect.poll(() => curl(page)).not.toContain('order');
        if (order) await choice.selectOption(order);
        await page.getByRole('button', { name: 'Create pool' }).click();
        await page.getByRole('heading', { name }).waitFor();
        expect(await layoutOf(name)).toEqual({ ...usual, ...(order && { order }) });
        await toPools(page);
      }
      for (const [name, order] of [
        ['by a file', undefined],
        ['by a file, turned', 'desc'],
      ] as const) {
        await drop(page, `${name}.ndjson`, Buffer.from('{"ts":1}\n'));
        const choice = page.getByLabel('Order', { exact: true });
        await expect.poll(() => choice.locator('option:checked').textContent()).toBe('asc: the least first');
        if (order) {
          await choice.selectOption(order);
          await expect.poll(() => curl(page)).toContain('"order":"desc"');
        }
        await page.getByRole('button', { name: 'Load file' }).click();
        await page.getByRole('button', { name: 'Show the pool' }).click();
        await page.getByRole('heading', { name, exact: true }).waitFor();
        expect(await layoutOf(name)).toEqual({ ...usual, ...(order && { order }) });
        await toPools(page);
      }
      expect(faults).toEqual([]);
      await page.close();
    });

    test('a file with bytes that are not UTF-8 is kept as it is, or refused with the place', async () => {
      const pool = await pages.lake.createPool('bytes', { keys: [['k']] });
      const { page } = await pages.open('#/pool/bytes');
      const body = Buffer.concat([Buffer.from('{"k":1}\n{"k":"a'), Buffer.from([0x80]), Buffer.from('b"}\n')]);
      await page.getByRole('button', { name: 'Load data' }).first().click();
      await pick(page, 'bytes.ndjson', body);
      await page.getByLabel('Bytes that are not UTF-8').selectOption('Refuse the file');
      await expect.poll(() => curl(page)).toContain('?utf8=refuse');
      await page.getByRole('button', { name: 'Load file' }).click();
      const file = page.locator('li.file.failed');
      await file.getByText(/^line 2: byte 80 \(hex\) is no UTF-8 text/).waitFor();
      // 80 is the byte itself, not its place.
      await expect.poll(() => file.locator('.fault-line.is-fault .line-number').textContent()).toBe('2');
      expect((await pool.sums('main')).records).toBe(0);
      await page.getByLabel('Bytes that are not UTF-8').selectOption({ index: 0 });
      await expect.poll(() => curl(page)).not.toContain('utf8');
      await page.getByRole('button', { name: 'Load file' }).click();
      await page.getByRole('button', { name: 'Show the pool' }).click();
      await expect.poll(async () => (await pool.sums('main')).records).toBe(2);
      expect(await pages.lake.query('from bytes | values to_hex(k)').asText()).toContain('618062');
      await page.close();
    });
  });

  test('what is there since has names, roles and contrast: axe-core finds nothing serious in both themes', async () => {
    await pages.lake.createPool('looked at too');
    for (const width of [1280, 360]) {
      const { page } = await pages.open('#/query?text=', { width, height: 800 });
      const check = async (what: string): Promise<void> => {
        // The themes differ in colours alone.
        for (const theme of ['light', 'dark'] as const) {
          await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
          const rules = theme === 'light' ? undefined : ['color-contrast'];
          expect(await seriousFindings(page, rules), `${what} ${width} ${theme}`).toEqual([]);
        }
      };
      await page.getByLabel('In the order of').waitFor();
      await check('starts');
      await page.evaluate(
        `location.hash = '#/query?text=' + encodeURIComponent('values {a:1,b:"x",c:{d:null}}, {a:2}')`,
      );
      await page.locator('#cell-0-1').waitFor();
      await page.getByRole('button', { name: /^Columns/ }).click();
      await page.getByRole('button', { name: 'Go to a' }).waitFor();
      await check('columns');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Row', exact: true }).click();
      await page.getByRole('tree').waitFor();
      // Who leaves the pane by the keyboard is in the table again.
      await page.getByRole('tree').focus();
      await page.keyboard.press('Escape');
      await expect.poll(() => page.evaluate('document.activeElement.role')).toBe('grid');
      await page.getByRole('button', { name: 'Row', exact: true }).click();
      await page.getByRole('textbox', { name: 'Query' }).click();
      await page.keyboard.insertText('values 1 -- ');
      await page.getByText('Outdated', { exact: true }).waitFor();
      await check('outdated');
      await page.evaluate('location.hash = "#/pools"');
      await page.locator('.pools').waitFor();
      await page.getByRole('button', { name: 'New pool' }).click();
      await page.getByLabel('Order', { exact: true }).waitFor();
      await check('new pool');
      await page.close();
    }
  });
});
