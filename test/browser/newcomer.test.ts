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
});
