/**
 * What watching the machines costs: `npm run bench:inspect`. 1,000 pools and small durable commits from many clients,
 * against three services in turns: one with `-inspect=false`, one that keeps the newest messages while nobody watches,
 * one that is watched. And whether the page stays awake meanwhile, where there is a Chromium.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { type Service, startBuiltService } from '../../support/service/built.ts';
import { lacksChromium, launchChromium } from '../../support/chromium.ts';
import { type Client, clientOf } from '../../support/service/client.ts';
import { median, ms, printFigures } from '../../support/figures.ts';

const modes = ['off', 'on', 'watched'] as const;
type Mode = (typeof modes)[number];
interface InspectOptions {
  readonly pools: number;
  readonly clients: number;
  readonly rounds: number;
  readonly secondsARound: number;
  readonly page: boolean;
}
interface InspectFigures {
  readonly commitsASecond: Readonly<Record<Mode, number>>;
  /** Processor time of the service's main thread and workers. */
  readonly cpuMsACommit: Readonly<Record<Mode, number>>;
  readonly messagesASecond: number;
  readonly dropped: number;
  /** Longest time for which the page drew nothing; undefined without a browser. */
  readonly pageGapMs: number | undefined;
}
const file = fileURLToPath(import.meta.url);

/** Milliseconds of processor time since a process began. */
const cpuMs = ({ process: { pid } }: Service): number => {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
    .slice(11, 13)
    .map(Number) as [number, number];
  return (user + system) * 10;
};

const commits = async (
  client: Client,
  { pools, clients }: InspectOptions,
  seconds: number,
): Promise<{ readonly count: number; readonly tookMs: number }> => {
  const began = performance.now();
  let count = 0;
  await Promise.all(
    Array.from({ length: clients }, async (_, n) => {
      for (let at = n; performance.now() - began < seconds * 1000; at += clients) {
        const { status, body } = await client.ask('POST', `/pool/p${at % pools}/branch/main`, { body: `{k:${at}}` });
        if (status !== 200) throw new Error(`${status} ${body}`);
        count++;
      }
    }),
  );
  return { count, tookMs: performance.now() - began };
};

/** A page's side of the wire in a process of its own; prints how many messages came. */
const startWatcher = (
  address: string,
): ChildProcess & { readonly told: () => { readonly messages: number; readonly dropped: number } } => {
  const child = spawn(process.execPath, ['--import', 'tsx', file, 'watch', address], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let line = '{"messages":0,"dropped":0}';
  child.stdout.on('data', (chunk: Buffer) => {
    line = chunk.toString().trimEnd().split('\n').at(-1)!;
  });
  return Object.assign(child, { told: () => JSON.parse(line) as { messages: number; dropped: number } });
};
const watch = (address: string): void => {
  const socket = new WebSocket(`${address.replace('http', 'ws')}/inspect/feed`);
  let messages = 0;
  let dropped = 0;
  socket.on('message', (data: Buffer) => {
    const message = JSON.parse(data.toString()) as {
      readonly kind: string;
      readonly records?: readonly unknown[];
      readonly dropped?: number;
    };
    if (message.kind === 'frame') messages += message.records!.length;
    dropped = message.dropped ?? dropped;
  });
  socket.on('error', (error) => {
    throw error;
  });
  setInterval(() => {
    process.stdout.write(`${JSON.stringify({ messages, dropped })}\n`);
  }, 100);
};

/** Longest pause between two frames of the page while commits come. */
const pageGap = async (address: string, work: () => Promise<unknown>): Promise<number> => {
  const browser = await launchChromium();
  try {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.goto(`${address}/inspect`);
    await page.getByText('Live', { exact: true }).waitFor();
    await page.evaluate(
      'window.gap = 0; (function look(last) { requestAnimationFrame((now) => { if (last) window.gap = Math.max(window.gap, now - last); look(now); }); })(0)',
    );
    await work();
    return (await page.evaluate('window.gap')) as number;
  } finally {
    await browser.close();
  }
};

/** Measures, prints, and throws only when an answer is wrong. */
export const measureInspect = async (options: InspectOptions): Promise<InspectFigures> => {
  const services = new Map<Mode, Service>();
  const rates: Record<Mode, number[]> = { off: [], on: [], watched: [] };
  const cpus: Record<Mode, number[]> = { off: [], on: [], watched: [] };
  let watcher: ReturnType<typeof startWatcher> | undefined;
  try {
    for (const mode of modes)
      services.set(mode, await startBuiltService({ asShipped: true, flags: mode === 'off' ? ['-inspect=false'] : [] }));
    const clients = new Map<Mode, Client>(
      [...services].map(([mode, { address }]) => [mode, clientOf(address, options.clients)]),
    );
    for (const client of clients.values()) {
      for (let n = 0; n < options.pools; n++) await client.createPool(`p${n}`);
      // Every pool gets its actor, every service gets warm.
      for (let n = 0; n < options.pools; n += options.clients)
        await Promise.all(
          Array.from({ length: Math.min(options.clients, options.pools - n) }, (_, i) =>
            client.load(`p${n + i}`, '{k:0}'),
          ),
        );
      await commits(client, options, options.secondsARound);
    }
    watcher = startWatcher(services.get('watched')!.address);
    while (watcher.told().messages === 0) await commits(clients.get('watched')!, options, 0.2);
    let messages = 0;
    let watchedMs = 0;
    for (let round = 0; round < options.rounds; round++) {
      // In another order each round, so that what the disk does meanwhile hits all alike.
      for (const mode of [0, 1, 2].map((n) => modes[(n + round) % 3]!)) {
        const service = services.get(mode)!;
        const before = cpuMs(service);
        const seen = watcher.told().messages;
        const { count, tookMs } = await commits(clients.get(mode)!, options, options.secondsARound);
        rates[mode].push((count * 1000) / tookMs);
        cpus[mode].push((cpuMs(service) - before) / count);
        if (mode !== 'watched') continue;
        await new Promise((resolve) => {
          setTimeout(resolve, 300);
        });
        messages += watcher.told().messages - seen;
        watchedMs += tookMs;
      }
    }
    const { dropped } = watcher.told();
    watcher.kill();
    const pageGapMs =
      !options.page || lacksChromium()
        ? undefined
        : await pageGap(services.get('watched')!.address, () =>
            commits(clients.get('watched')!, options, 2 * options.secondsARound),
          );
    for (const client of clients.values()) client.close();
    const of = (lists: Record<Mode, number[]>): Record<Mode, number> => ({
      off: median(lists.off),
      on: median(lists.on),
      watched: median(lists.watched),
    });
    return {
      commitsASecond: of(rates),
      cpuMsACommit: of(cpus),
      messagesASecond: (messages * 1000) / watchedMs,
      dropped,
      pageGapMs,
    };
  } finally {
    watcher?.kill();
    for (const service of services.values()) await service.stop();
  }
};

if (process.argv[1] === file) {
  if (process.argv[2] === 'watch') watch(process.argv[3]!);
  else {
    const { commitsASecond, cpuMsACommit, messagesASecond, dropped, pageGapMs } = await measureInspect({
      pools: 1000,
      clients: 32,
      rounds: 7,
      secondsARound: 3,
      page: true,
    });
    const names = {
      off: 'without the inspector',
      on: 'nobody watches',
      watched: 'one page watches',
    } as const satisfies Record<Mode, string>;
    for (const mode of modes) {
      const more = (cpuMsACommit[mode] / cpuMsACommit.off - 1) * 100;
      printFigures(names[mode], {
        'commits a second': commitsASecond[mode].toFixed(0),
        'processor ms a commit': `${cpuMsACommit[mode].toFixed(2)}${mode === 'off' ? '' : ` (${more >= 0 ? '+' : ''}${more.toFixed(1)} %)`}`,
      });
    }
    printFigures('the page', {
      'messages a second': messagesASecond.toFixed(0),
      'not sent': dropped,
      'longest time without a frame': pageGapMs === undefined ? 'no Chromium here' : ms(pageGapMs),
    });
  }
}
