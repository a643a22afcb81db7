/** The console as somebody meets it who has never seen it: what they try first, and where they looked twice. */
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { lacksChromium } from '../support/chromium.ts';
import { commit, useConsole } from './console-page.ts';

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
      let answer = (): void => undefined;
      const wanted = new Promise<void>((asked) => {
        void page.route(/\/query\?/, async (route) => {
          asked();
          await new Promise<void>((go) => {
            answer = go;
          });
          await route.continue();
        });
      });
      await editor(page).focus();
      await page.keyboard.press('End');
      await page.keyboard.type('d | where t');
      await wanted;
      await page.getByRole('button', { name: 'Help' }).focus();
      const answered = page.waitForResponse(/\/query\?/);
      answer();
      await (await answered).finished();
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
});
