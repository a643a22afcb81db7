/** Merges, reverts and picks whose records conflict: settled by clicking, in a real browser against the real service. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import type { Pool } from '../../src/client/client.ts';
import { lacksChromium, seriousFindings } from '../support/chromium.ts';
import { button, curl, openCommit, useConsole } from './console-page.ts';

describe.skipIf(lacksChromium())('records in conflict', () => {
  const pages = useConsole();
  const rows = (pool: string, branch = 'main'): Promise<string> =>
    pages.lake.query(`from "${pool}"@${branch} | sort k`).asText();
  /** Keys beyond what a JavaScript number holds, times, a field that one side gave. */
  const makeConflicts = async (name: string): Promise<Pool> => {
    const pool = await pages.lake.createPool(name, { keys: [['k']] });
    await pool.setIdentity([['k']]);
    const main = pool.branch('main');
    await main.load('{k:9007199254740993,a:1,b:1,same:"x"}{k:9007199254740995,a:2,b:2}{k:9007199254740997,a:3,b:3}', {
      format: 'sup',
      message: 'the beginning',
    });
    const side = await pool.createBranch('side', await main.tip());
    await main.update('a <= 3', 'a:=a+10', { message: 'ten more' });
    await side.update('a <= 3', 'a:=a+20, t:=2026-01-01T00:00:00Z', { message: 'twenty more' });
    return pool;
  };
  const conflicts = (page: Page) => page.getByRole('region', { name: 'Records in conflict' });
  const take = (page: Page, key: string, side: string) =>
    page.getByRole('radio', { name: `k ${key}: take that of ${side}`, exact: true });

  test('of a merge are settled one by one and all the others together; the line for curl does the same', async () => {
    const pool = await makeConflicts('settled');
    const tip = await pool.branch('main').tip();
    const { page, faults } = await pages.open('#/pool/settled');
    await button(page, 'Merge').click();
    await page.locator('dialog .effect.refused').getByText('3 records are in conflict.').waitFor();
    await conflicts(page).getByText('were changed on both sides').waitFor();
    // What differs is marked, and what is the same is shown when one asks for it.
    const first = page.locator('.conflict').first();
    await expect
      .poll(() => first.locator('tr.differs').allInnerTexts())
      .toEqual([expect.stringMatching(/^a\s*, changed\s+1\s+11\s+21$/), expect.stringMatching(/^t\s*, changed/)]);
    await first.getByRole('button', { name: '3 fields more, the same' }).click();
    await expect.poll(() => first.locator('tbody tr').count()).toBe(5);
    await expect.poll(() => button(page, 'Merge').last().isDisabled()).toBe(true);
    await take(page, '9007199254740993', 'side').check();
    await page.locator('dialog .effect.refused').getByText('2 records are in conflict.').waitFor();
    await take(page, '9007199254740995', 'before both').check();
    await page.getByLabel('as on main').check();
    await page.locator('dialog .effect:not(.refused)').waitFor();
    await expect.poll(() => curl(page)).toContain('?resolve=ours');
    const line = (await curl(page))!;
    expect(line).toContain(
      '{settle:[{key:{k:9007199254740993},take:"theirs"},{key:{k:9007199254740995},take:"base"}]}',
    );
    await button(page, 'Merge').last().click();
    await page.getByText('Merged side into main.').waitFor();
    const settled =
      '{k:9007199254740993,a:21,b:1,same:"x",t:2026-01-01T00:00:00Z}\n{k:9007199254740995,a:2,b:2}\n{k:9007199254740997,a:13,b:3}\n';
    await expect.poll(() => rows('settled')).toBe(settled);
    await pool.branch('main').reset(tip);
    await promisify(execFile)('bash', ['-c', line]);
    await expect.poll(() => rows('settled')).toBe(settled);
    expect(faults).toEqual([]);
    await page.close();
  });

  test('whose fields were changed apart can be put together', async () => {
    const pool = await pages.lake.createPool('apart', { keys: [['k']] });
    await pool.setIdentity([['k']]);
    await pool.branch('main').load('{k:1,a:1,b:1}', { format: 'sup' });
    const side = await pool.createBranch('side', await pool.branch('main').tip());
    await pool.branch('main').update('k == 1', 'a:=2');
    await side.update('k == 1', 'b:=3');
    const { page } = await pages.open('#/pool/apart');
    await button(page, 'Merge').click();
    await conflicts(page).waitFor();
    await page.getByLabel('Put records together whose fields were changed apart').check();
    await page.locator('dialog .effect:not(.refused)').waitFor();
    await expect.poll(() => conflicts(page).count()).toBe(0);
    await button(page, 'Merge').last().click();
    await expect.poll(() => rows('apart')).toBe('{k:1,a:2,b:3}\n');
    await page.close();
  });

  test('of a revert and of a pick are settled too; a pick shows what it would do', async () => {
    const pool = await makeConflicts('picked');
    const { page, faults } = await pages.open('#/pool/picked');
    await openCommit(page, 'twenty more');
    await button(page, 'Pick').click();
    await page.locator('dialog .effect.refused').getByText('3 records are in conflict.').waitFor();
    await page.getByLabel('as on the commit').check();
    await expect.poll(() => page.locator('dialog .effect').innerText()).toMatch(/\+3\s+records/);
    await button(page, 'Pick').last().click();
    await page.getByText(/^Picked [0-9a-f]{8} onto main\.$/).waitFor();
    await expect.poll(() => rows('picked')).toMatch(/a:21.*\n.*a:22.*\n.*a:23/);
    await openCommit(page, 'ten more');
    await button(page, 'Revert').click();
    await page.locator('dialog .effect.refused').getByText('3 records are in conflict.').waitFor();
    await take(page, '9007199254740993', 'before the commit').check();
    await page.getByLabel('as on main').check();
    await page.locator('dialog .effect:not(.refused)').waitFor();
    await button(page, 'Revert').last().click();
    await expect.poll(() => rows('picked')).toMatch(/a:1,.*\n.*a:22.*\n.*a:23/);
    expect((await pool.branches()).length).toBe(2);
    expect(faults).toEqual([]);
    await page.close();
  });

  test('are told page by page where they are many, and choices stay', async () => {
    const pool = await pages.lake.createPool('many', { keys: [['k']] });
    await pool.setIdentity([['k']]);
    await pool.branch('main').load(Array.from({ length: 150 }, (_, k) => `{k:${k},a:0}`).join('\n'), { format: 'sup' });
    const side = await pool.createBranch('side', await pool.branch('main').tip());
    await pool.branch('main').update('true', 'a:=1');
    await side.update('true', 'a:=2');
    const { page } = await pages.open('#/pool/many');
    await button(page, 'Merge').click();
    await take(page, '3', 'side').check();
    await button(page, 'Show more (130 left)').click();
    await take(page, '99', 'side').check();
    await expect.poll(() => take(page, '3', 'side').isChecked()).toBe(true);
    await page.getByLabel('as on main').check();
    await page.locator('dialog .effect:not(.refused)').waitFor();
    await button(page, 'Merge').last().click();
    await expect.poll(() => pages.lake.query('from many | where a==2 | sort k | values k').asText()).toBe('3\n99\n');
    await page.close();
  });

  test('a branch is protected and freed again by its dialog', async () => {
    const pool = await pages.lake.createPool('guarded', { keys: [['k']] });
    await pool.branch('main').load('{k:1}', { format: 'sup' });
    const { page } = await pages.open('#/pool/guarded?tab=branches');
    await button(page, 'Protect branch main').click();
    await page.getByLabel('Load into it').selectOption('nobody');
    await page.getByLabel('Reset or delete it').selectOption('administrators');
    await expect.poll(() => curl(page)).toContain('{"load":"nobody","reset":"admin"}');
    await button(page, 'Save').click();
    await page.locator('.branches-table .tag').getByText('protected').waitFor();
    await expect(pool.branch('main').load('{k:2}', { format: 'sup' })).rejects.toMatchObject({ status: 403 });
    await button(page, 'Protect branch main').click();
    await expect.poll(() => page.getByLabel('Load into it').inputValue()).toBe('nobody');
    await page.getByLabel('Load into it').selectOption('whoever may write');
    await page.getByLabel('Reset or delete it').selectOption('whoever may write');
    await button(page, 'Save').click();
    await page.locator('.branches-table .tag').getByText('protected').waitFor({ state: 'detached' });
    await pool.branch('main').load('{k:2}', { format: 'sup' });
    await page.close();
  });

  test('have names, roles and contrast, and stay within a narrow screen', async () => {
    await makeConflicts('looked at');
    for (const width of [1280, 360]) {
      const { page } = await pages.open('#/pool/looked at', { width, height: 800 });
      const check = async (what: string): Promise<void> => {
        // The themes differ in colours alone.
        for (const theme of ['light', 'dark']) {
          await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
          const rules = theme === 'light' ? undefined : ['color-contrast'];
          expect(await seriousFindings(page, rules), `${what} ${width} ${theme}`).toEqual([]);
        }
      };
      await button(page, 'Merge').click();
      await take(page, '9007199254740993', 'side').check();
      await page.locator('dialog .effect.refused').getByText('2 records are in conflict.').waitFor();
      await check('merge');
      const beyond = (await page.evaluate(`[...document.querySelectorAll('dialog *')].filter((each) => {
        const { width, right } = each.getBoundingClientRect();
        return width > 0 && right > innerWidth + 1 && !each.closest('.sides-box, pre, svg');
      }).map((each) => each.outerHTML.slice(0, 120))`)) as readonly string[];
      expect(beyond).toEqual([]);
      await page.keyboard.press('Escape');
      await page.getByRole('tab', { name: /Branches/ }).click();
      await button(page, 'Protect branch main').click();
      await page.getByLabel('Load into it').waitFor();
      await check('protect');
      await page.close();
    }
  });
});
