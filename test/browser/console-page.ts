/** What the tests of the console share: a service, a browser, and what people do with a page. */
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { connect, type Lake } from '../../src/client/client.ts';
import { type Service, startBuiltService } from '../support/service/built.ts';
import { faultsOf, type SharedBrowser, sharedChromium } from '../support/chromium.ts';

/** For what comes by itself, on a machine that has other work too. */
export const soon = { timeout: 15_000 };

interface OpenOptions {
  readonly width?: number;
  readonly height?: number;
  readonly url?: string;
  readonly wait?: boolean;
  readonly own?: true;
}
interface OpenPage {
  readonly page: Page;
  readonly faults: readonly string[];
}
interface Console {
  readonly service: Service;
  /** A service that asks for keys, where one was wanted. */
  readonly guarded: Service;
  readonly lake: Lake;
  /**
   * A page, in the context that the tests share unless it is to have its `own`, so that what the pages are made of is
   * read and compiled once.
   */
  readonly open: (hash?: string, options?: OpenOptions) => Promise<OpenPage>;
}

/** Starts all that once for the tests of a suite, and ends it. What it gives may be used in tests and hooks alone. */
export const useConsole = (options: { readonly guarded?: true } = {}): Console => {
  // A story is many clicks, and each waits for the machine.
  vi.setConfig({ testTimeout: 180_000 });
  let service: Service;
  let guarded: Service | undefined;
  let browser: SharedBrowser;
  let context: BrowserContext;
  let lake: Lake;
  const look = { viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' } as const;
  beforeAll(async () => {
    [service, guarded, browser] = await Promise.all([
      startBuiltService({ flags: ['-workers', '1'] }),
      options.guarded && startBuiltService({ flags: ['-workers', '1', '-auth.keys'] }),
      sharedChromium(),
    ]);
    lake = connect(service.address);
    context = await browser.newContext(look);
  });
  afterAll(async () => {
    await browser?.close();
    await Promise.all([service?.stop(), guarded?.stop()]);
  });
  return {
    get service() {
      return service;
    },
    get guarded() {
      return guarded!;
    },
    get lake() {
      return lake;
    },
    open: async (hash = '', { width, height = 900, url = service.address, wait = true, own } = {}) => {
      const page = await (own ? browser.newPage(look) : context.newPage());
      const faults = faultsOf(page);
      if (width !== undefined) await page.setViewportSize({ width, height });
      await page.goto(`${url}/${hash}`);
      if (wait) await page.getByText('Live', { exact: true }).waitFor();
      return { page, faults };
    },
  };
};

export const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, ...(typeof name === 'string' && { exact: true }) });
export const figure = (page: Page, label: string) => page.locator('.figure').filter({ hasText: label }).locator('dd');
export const commit = (page: Page, text: string) => page.locator('.row.commit').filter({ hasText: text }).first();
/** Opens a commit of the graph. Rows move when a newer one comes: a click that met another row is made again. */
export const openCommit = async (page: Page, text: string): Promise<void> => {
  const heading = page.getByRole('heading', { name: text });
  const isOpen = async (): Promise<boolean> => {
    await commit(page, text).click();
    return heading.waitFor({ timeout: 3000 }).then(
      () => true,
      () => false,
    );
  };
  await expect.poll(isOpen, { timeout: 60_000 }).toBe(true);
};
/** The line for curl of the open dialog. */
export const curl = (page: Page): Promise<string | null> => page.locator('dialog .curl code').textContent();
/** Chooses a file in the open dialog. */
export const pick = async (page: Page, name: string, body: Buffer | string): Promise<void> => {
  await page.setInputFiles('dialog input[type=file]', { name, mimeType: '', buffer: Buffer.from(body) });
};
/** Goes to the list of pools by its link, and waits for it: the page before has left. */
export const toPools = async (page: Page): Promise<void> => {
  await page.getByRole('link', { name: 'Pools', exact: true }).first().click();
  await page.getByRole('button', { name: 'New pool' }).waitFor();
};
