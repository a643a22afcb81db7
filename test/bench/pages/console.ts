/**
 * What a page that watches costs a busy lake: `npm run bench:console`. Commits are offered at a fixed rate (1,000 a
 * second to one pool), in turns with nobody watching, with the console's page of that pool open in a real browser, and
 * with its page of events.
 *
 * The service would lose of its highest rate what it spends more of processor time on each commit: that is measured,
 * since the browser shares the machine here, as it does not where people watch. Beside it stands what clients in a
 * closed loop get, which the browser's own work slows too.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { type Service, startBuiltService } from '../../support/service/built.ts';
import { launchChromium } from '../../support/chromium.ts';
import { type Client, clientOf } from '../../support/service/client.ts';
import { median } from '../../support/figures.ts';

const modes = ['nobody', 'pool page', 'events page'] as const;
type Mode = (typeof modes)[number];
interface ConsoleOptions {
  readonly commitsASecond: number;
  readonly rounds: number;
  readonly secondsARound: number;
}
interface ConsoleFigures {
  /** Processor time of the service, all threads. */
  readonly cpuMsACommit: Readonly<Record<Mode, number>>;
  readonly commitsASecond: Readonly<Record<Mode, number>>;
  /** Events that the page showed, and that there were meanwhile. */
  readonly seen: { readonly shown: number; readonly made: number };
  /** Longest time for which the page drew nothing. */
  readonly gapMs: number;
}
const hashes: Readonly<Record<Exclude<Mode, 'nobody'>, string>> = {
  'pool page': '#/pool/busy',
  'events page': '#/events',
};

/** Milliseconds of processor time since a process began. */
const cpuMs = ({ process: { pid } }: Service): number => {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
    .slice(11, 13)
    .map(Number) as [number, number];
  return (user + system) * 10;
};

/** Offers commits at a rate; how many were made, and how long it took. */
const offer = async (
  client: Client,
  rate: number,
  seconds: number,
): Promise<{ readonly count: number; readonly tookMs: number }> => {
  const began = performance.now();
  const waiting = new Set<Promise<void>>();
  const total = Math.round(rate * seconds);
  let sent = 0;
  let count = 0;
  const one = async (k: number): Promise<void> => {
    const { status, body } = await client.ask('POST', '/pool/busy/branch/main', {
      body: `{k:${k},text:"a small record"}`,
    });
    if (status !== 200) throw new Error(`${status} ${body}`);
    count++;
  };
  while (sent < total) {
    const due = Math.min(total, Math.ceil(((performance.now() - began) / 1000) * rate));
    // What the service does not keep up with is not piled up.
    for (; sent < due && waiting.size < 256; sent++) {
      const asked = one(sent).finally(() => waiting.delete(asked));
      waiting.add(asked);
    }
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
    if (performance.now() - began > seconds * 3000) break;
  }
  await Promise.all(waiting);
  return { count, tookMs: performance.now() - began };
};

const openPage = async (browser: Browser, address: string, hash: string): Promise<Page> => {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.goto(`${address}/${hash}`);
  await page.getByText('Live', { exact: true }).waitFor();
  await page.evaluate(
    'window.gap = 0; (function look(last) { requestAnimationFrame((now) => { if (last) window.gap = Math.max(window.gap, now - last); look(now); }); })(0)',
  );
  return page;
};

export const measureConsole = async ({
  commitsASecond,
  rounds,
  secondsARound,
}: ConsoleOptions): Promise<ConsoleFigures> => {
  const service = await startBuiltService({ asShipped: true });
  const browser = await launchChromium();
  const client = clientOf(service.address);
  const cpu: Record<Mode, number[]> = { nobody: [], 'pool page': [], 'events page': [] };
  const rates: Record<Mode, number[]> = { nobody: [], 'pool page': [], 'events page': [] };
  let gapMs = 0;
  let shown = 0;
  let made = 0;
  try {
    await client.ask('POST', '/pool', {
      headers: { 'content-type': 'application/json' },
      body: '{"name":"busy","layout":{"order":"asc","keys":[["k"]]}}',
    });
    // The first seconds compile.
    await offer(client, commitsASecond, secondsARound * 2);
    for (let round = 0; round < rounds; round++) {
      for (const mode of round % 2 === 0 ? modes : [...modes].reverse()) {
        const page = mode === 'nobody' ? undefined : await openPage(browser, service.address, hashes[mode]);
        const before = cpuMs(service);
        const { count, tookMs } = await offer(client, commitsASecond, secondsARound);
        cpu[mode].push((cpuMs(service) - before) / count);
        rates[mode].push((count * 1000) / tookMs);
        if (page) {
          gapMs = Math.max(gapMs, (await page.evaluate('window.gap')) as number);
          if (mode === 'events page') {
            await page.waitForTimeout(1500);
            shown += Number(
              ((await page.locator('#events-title').textContent()) ?? '')
                .replace(/[^\d ]/g, '')
                .trim()
                .split(' ')[0],
            );
            made += count;
          }
          await page.close();
        }
      }
    }
    const medians = (of: Readonly<Record<Mode, readonly number[]>>): Record<Mode, number> => ({
      nobody: median(of.nobody),
      'pool page': median(of['pool page']),
      'events page': median(of['events page']),
    });
    return { cpuMsACommit: medians(cpu), commitsASecond: medians(rates), seen: { shown, made }, gapMs };
  } finally {
    await browser.close();
    await service.stop();
  }
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [rate = '1000', rounds = '5', seconds = '4'] = process.argv.slice(2);
  const {
    cpuMsACommit: cpu,
    commitsASecond,
    seen,
    gapMs,
  } = await measureConsole({ commitsASecond: Number(rate), rounds: Number(rounds), secondsARound: Number(seconds) });
  for (const mode of modes)
    process.stdout.write(
      `${mode.padEnd(12)} ${commitsASecond[mode].toFixed(0).padStart(6)} commits/s ${cpu[mode].toFixed(3)} ms CPU a commit ${mode === 'nobody' ? '' : `(${((cpu[mode] / cpu.nobody - 1) * 100).toFixed(1)} %)`}\n`,
    );
  process.stdout.write(
    `events shown ${seen.shown} of ${seen.made}; longest pause of the page ${gapMs.toFixed(0)} ms\n`,
  );
}
