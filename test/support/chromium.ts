/**
 * Debian's Chromium under playwright-core; without its windows where that is installed (`chromium-headless-shell`): the
 * pages' tests take 0.6 of the processor time. Where neither is, tests are skipped by name; with NO_SKIPS they fail.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

const installed = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const executablePath = process.env['CHROMIUM'] ?? installed.find((path) => existsSync(path)) ?? installed.at(-1)!;
/** Whether tests that need a browser are to be left out. */
export const lacksChromium = (): boolean => process.env['NO_SKIPS'] === undefined && !existsSync(executablePath);

/** Painted by the processor: a GPU that is imitated takes a tenth more. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });

export type SharedBrowser = Pick<Browser, 'newContext' | 'newPage' | 'close'>;
let shared: Browser | undefined;
/**
 * The browser of all files that this process runs, one after another; it ends with the process. `close` ends what a
 * file opened in it: each has contexts of its own, so that none sees what another left.
 */
export const sharedChromium = async (): Promise<SharedBrowser> => {
  if (!shared?.isConnected()) shared = await launchChromium();
  const browser = shared;
  return {
    newContext: (options) => browser.newContext(options),
    newPage: (options) => browser.newPage(options),
    close: async () => {
      for (const context of browser.contexts()) await context.close();
    },
  };
};

interface Look {
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  readonly dark?: boolean | undefined;
}
/**
 * A page with a look of its own in a context that the tests of a file share: what the pages are made of is read and
 * compiled once. What they keep in the browser they keep for each other.
 */
export const newPageOf = async (
  context: BrowserContext,
  { width = 1440, height = 900, dark = false }: Look = {},
): Promise<Page> => {
  const page = await context.newPage();
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce' });
  return page;
};

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
interface Finding {
  readonly id: string;
  readonly impact: string;
  readonly help: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
}

/** What axe-core finds serious or critical: rule, and where. `rules`: these alone. */
export const seriousFindings = async (page: Page, rules?: readonly string[]): Promise<readonly string[]> => {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe);
  const found = (await page.evaluate(
    `axe.run(document, ${JSON.stringify({ resultTypes: ['violations'], ...(rules && { runOnly: rules }) })}).then((r) => r.violations)`,
  )) as readonly Finding[];
  return found
    .filter((f) => f.impact === 'serious' || f.impact === 'critical')
    .map(
      (f) =>
        `${f.id}: ${f.help}: ${f.nodes
          .slice(0, 3)
          .map((n) => `${n.target.join(' ')} (${n.failureSummary})`)
          .join('; ')}`,
    );
};

/**
 * Answers that a page asks for and Chromium logs as failed, now or never, as the moments fall: the check of a text that
 * is half written, and the cancelling of a query that has ended by itself.
 */
const isAnswer = (text: string, url: string): boolean =>
  (text.includes('status of 400') && /\/compile$/.test(url)) ||
  (text.includes('status of 404') && /\/query\/[^/?]+$/.test(url));

/**
 * Faults of the page's own: uncaught errors, errors on its console (a breach of the content security policy is one),
 * dialogs.
 */
export const faultsOf = (page: Page): readonly string[] => {
  const faults: string[] = [];
  page.on('pageerror', (error) => {
    faults.push(String(error));
  });
  page.on('console', (message) => {
    const { url } = message.location();
    if (message.type() === 'error' && !isAnswer(message.text(), url)) faults.push(`${message.text()} ${url}`.trimEnd());
  });
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return faults;
};
