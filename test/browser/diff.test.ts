/** What a revision changed, record by record, in a real browser against the real service. */
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import type { Pool } from '../../src/client/client.ts';
import { lacksChromium, seriousFindings } from '../support/chromium.ts';
import { button, openCommit, useConsole } from './console-page.ts';

describe.skipIf(lacksChromium())('the changes of a revision', () => {
  const pages = useConsole();
  const makePool = async (name: string): Promise<Pool> => {
    const pool = await pages.lake.createPool(name, { keys: [['k']] });
    await pool.setIdentity([['k']]);
    const main = pool.branch('main');
    await main.load('{k:1,a:1,text:"x"}{k:9007199254740993,a:2,text:"y",deep:{same:1,other:1}}{k:3,a:3}', {
      format: 'sup',
      message: 'the beginning',
    });
    await pool.createTag('v1', await main.tip());
    const side = await pool.createBranch('side', await main.tip());
    await side.update('a == 2', 'a:=20, note:="new", deep.other:=2', { message: 'an update' });
    await side.deleteWhere('k == 3', { message: 'a deletion' });
    await side.load('{k:4,a:4}', { format: 'sup', message: 'an addition' });
    await main.load('{k:5,a:5}', { format: 'sup', message: 'meanwhile' });
    return pool;
  };
  const changes = (page: Page): Promise<readonly string[]> =>
    page.locator('.change').evaluateAll((all) => all.map((each) => each.textContent.replaceAll(/\s+/g, ' ')));
  const of = (page: Page) => page.getByLabel('Changes of');
  const against = (page: Page) => page.getByLabel('against', { exact: true });

  test('against its fork, its parent, a branch, a tag and a commit; side by side, what changed marked', async () => {
    const pool = await makePool('compared');
    const { page, faults } = await pages.open('#/pool/compared?at=side');
    await page.getByRole('tab', { name: 'Changes' }).click();
    await expect
      .poll(() => changes(page))
      .toEqual([
        'k 3 removed{k:3,a:3}',
        'k 4 added{k:4,a:4}',
        'k 9007199254740993 changedFieldbeforesidea, changed220deep, changed other{same:1,other:1}{same:1,other:2}note, changedno fieldnew2 fields more, the same',
      ]);
    await expect.poll(() => page.locator('.change tr.differs').count()).toBe(3);
    await button(page, '2 fields more, the same').click();
    await expect.poll(() => page.locator('.change tbody tr').count()).toBe(5);
    await expect.poll(() => page.locator('.change tbody tr:not(.differs) th').allTextContents()).toEqual(['k', 'text']);

    // Against the tip of main, which went on.
    await against(page).selectOption('main');
    await expect.poll(async () => (await changes(page)).map((text) => text.slice(0, 12))).toHaveLength(4);
    await expect.poll(async () => (await changes(page)).join()).toContain('k 5 removed{k:5,a:5}');
    await page.getByText('1 added, 2 removed, 1 changed').waitFor();
    await against(page).selectOption('v1');
    await expect.poll(async () => (await changes(page)).length).toBe(3);
    // The address says what is compared, and Back leads to what it was.
    await expect.poll(() => new URL(page.url()).hash).toMatch(/tab=changes&of=side&base=v1$/);
    await page.goBack();
    await expect.poll(async () => (await changes(page)).length).toBe(4);

    const log = (await pool.graph()).commits;
    const beginning = log.find(({ message }) => message === 'the beginning')!.id;
    await of(page).selectOption('main');
    await against(page).selectOption('other');
    await page.getByLabel('Revision').fill(beginning);
    await page.keyboard.press('Tab');
    await expect.poll(() => changes(page)).toEqual(['k 5 added{k:5,a:5}']);
    await page.getByLabel('Revision').fill('nowhere');
    await page.keyboard.press('Tab');
    await page
      .locator('.diff-scroll .fault')
      .getByText(/nowhere/)
      .waitFor();

    // From a commit of the list.
    await page.getByRole('tab', { name: 'Commits' }).click();
    await openCommit(page, 'a deletion');
    await button(page, 'What it changed').click();
    await expect.poll(() => changes(page)).toEqual(['k 3 removed{k:3,a:3}']);
    await expect.poll(() => against(page).locator('option:checked').textContent()).toBe('its parent');
    expect(faults.filter((fault) => !/40[04]/.test(fault))).toEqual([]);
    await page.close();
  });

  test('many are shown page by page, and a compaction changes nothing', async () => {
    const pool = await pages.lake.createPool('long', { keys: [['k']] });
    const main = pool.branch('main');
    await main.load('{k:-1}', { format: 'sup' });
    await main.load(Array.from({ length: 300 }, (_, k) => `{k:${k}}`).join('\n'), { format: 'sup' });
    const objects = await pages.lake.query<{ id: Uint8Array }>('from long@main:objects | cut id').all();
    await main.compact(
      objects.map(({ id }) => `0x${Buffer.from(id).toString('hex')}`),
      { message: 'compacted' },
    );
    const { page } = await pages.open('#/pool/long');
    await openCommit(page, 'loaded 1 data object');
    await button(page, 'What it changed').click();
    await page.getByText('The first 50 changes').waitFor();
    await button(page, 'Show more').click();
    await page.getByText('The first 200 changes').waitFor();
    await button(page, 'Show more').click();
    await page.getByText('300 changes', { exact: true }).waitFor();
    await page.getByRole('tab', { name: 'Commits' }).click();
    await openCommit(page, 'compacted');
    await button(page, 'What it changed').click();
    await page.getByText('No record is another one.').waitFor();
    await page.close();
  });

  test('have names, roles and contrast, and stay within a narrow screen', async () => {
    await makePool('seen');
    for (const width of [1280, 360]) {
      const { page } = await pages.open('#/pool/seen?at=side&tab=changes&base=main', { width, height: 800 });
      await expect.poll(async () => (await changes(page)).length).toBe(4);
      // The themes differ in colours alone.
      for (const theme of ['light', 'dark']) {
        await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
        const rules = theme === 'light' ? undefined : ['color-contrast'];
        expect(await seriousFindings(page, rules), `${width} ${theme}`).toEqual([]);
      }
      const beyond = (await page.evaluate(`[...document.querySelectorAll('#content *')].filter((each) => {
        const { width, right } = each.getBoundingClientRect();
        return width > 0 && right > innerWidth + 1 && !each.closest('.sides-box, .tabs, pre, svg');
      }).map((each) => each.outerHTML.slice(0, 120))`)) as readonly string[];
      expect(beyond, String(width)).toEqual([]);
      await page.close();
    }
  });
});
