/**
 * Drips and floods: clients that mean harm, or that cannot do better, beside one that behaves. That one is to succeed
 * with all that it asks for; who behaves heeds a 503 with `Retry-After`. Afterwards the service holds nothing for those
 * that have gone: connections, tasks, pins, spill files.
 */
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { residentMib } from '../support/resident.ts';
import { type Service, startBuiltService } from '../support/service/built.ts';
import { type Answer, type Client, clientOf } from '../support/service/client.ts';
import { randomOf } from '../support/random.ts';
import type { PartRun } from './part.ts';

type Random = ReturnType<typeof randomOf>;
const flags = [
  '-tasks.max',
  '16',
  '-connections.max',
  '400',
  '-header.time',
  '4s',
  '-pack.objects',
  '0',
  '-workers',
  '2',
];
const attackers = { least: 30, more: 60 };
/** In `npm test` each attacker still comes by dozens of times. */
const attackMs = Number(process.env['FLOOD_MS'] ?? (process.env['VITEST'] ? 3000 : 8000));
const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** What an attacker has: connections that end with the attack, and the time until then. */
class Attack {
  readonly random: Random;
  private readonly port: number;
  private readonly sockets = new Set<Socket>();
  readonly faults: string[] = [];
  isOver = false;
  constructor(random: Random, port: number) {
    this.random = random;
    this.port = port;
  }
  /** A connection; what is read from it, when it is read. */
  async open(): Promise<Socket> {
    const socket = connect(this.port, '127.0.0.1');
    this.sockets.add(socket);
    socket
      .setMaxListeners(0)
      .on('error', () => undefined)
      .once('close', () => {
        this.sockets.delete(socket);
      });
    await Promise.race([once(socket, 'connect').catch(() => undefined), once(socket, 'close').catch(() => undefined)]);
    return socket;
  }
  end(): void {
    this.isOver = true;
    for (const socket of this.sockets) socket.destroy();
  }
}

const head = (line: string, headers: Readonly<Record<string, string | number>> = {}): string =>
  `${line} HTTP/1.1\r\nHost: localhost\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`;
const chunked = { 'Transfer-Encoding': 'chunked' };
const chunkOf = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const queryOf = (text: string): string =>
  `${head('POST /query', { 'Content-Type': 'application/json', 'Content-Length': text.length + 12 })}{"query":"${text}"}`;
const row = (k: number): string => `{"k":${k},"s":"${'x'.repeat(90)}"}\n`;

/** Sends pieces with pauses until the attack or the connection is over. */
const drip = async (attack: Attack, first: string, piece: string): Promise<void> => {
  const socket = await attack.open();
  const everyMs = 50 + attack.random.below(500);
  socket.resume().write(first);
  while (!attack.isOver && !socket.destroyed) {
    socket.write(piece);
    await pause(everyMs);
  }
};
const send = async (attack: Attack, text: string): Promise<Socket> => {
  const socket = await attack.open();
  socket.write(text);
  return socket;
};

/** What they do, each once; they are begun again until the attack is over. */
const kinds: Readonly<Record<string, (attack: Attack) => Promise<void>>> = {
  'drips of loads': (attack) => drip(attack, head('POST /pool/p/branch/main', chunked), chunkOf(' ')),
  'drips of control bodies': (attack) =>
    drip(
      attack,
      head(attack.random.pick(['POST /query', 'POST /pool', 'POST /pool/p/branch/main/delete']), {
        'Content-Length': 1_000_000,
      }),
      ' ',
    ),
  'drips of headers': (attack) => drip(attack, 'GET /version HTTP/1.1\r\nX: ', 'x'),
  'loads that stop': async (attack) => {
    const socket = await send(
      attack,
      head('POST /pool/p/branch/main', { ...chunked, 'Content-Type': 'application/json' }),
    );
    for (let k = 0; k < 1 + attack.random.below(40); k++) socket.write(chunkOf(row(k).repeat(100)));
    socket.resume();
    while (!attack.isOver && !socket.destroyed) await pause(100);
  },
  'control bodies that stop': async (attack) => {
    const socket = await send(
      attack,
      `${head('POST /query', { 'Content-Length': 1_000_000 })}{"query":"${'x'.repeat(attack.random.below(990_000))}`,
    );
    socket.resume();
    while (!attack.isOver && !socket.destroyed) await pause(100);
  },
  'answers that nobody reads': async (attack) => {
    const socket = await send(attack, queryOf('from big'));
    socket.pause();
    while (!attack.isOver && !socket.destroyed) {
      if (attack.random.below(3) === 0) socket.read(1);
      await pause(200);
    }
  },
  'requests given up': async (attack) => {
    const text = attack.random.pick([
      head('GET /events'),
      queryOf('from big | sort s'),
      `${head('POST /pool/p/branch/main', { 'Content-Length': 1_000_000 })}${row(1).repeat(attack.random.below(9000))}`,
      head('POST /query', { 'Content-Length': 10 }),
      'POST /po',
    ]);
    const socket = await send(attack, text.slice(0, 1 + attack.random.below(text.length)));
    socket.resume();
    await pause(attack.random.below(300));
    socket.destroy();
  },
  'watchers that vanish': async (attack) => {
    const socket = await send(
      attack,
      head('GET /inspect/feed', {
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': 13,
        'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
      }),
    );
    await pause(attack.random.below(500));
    socket.destroy();
  },
  'half-open connections': async (attack) => {
    const socket = await attack.open();
    if (attack.random.below(2) === 0) socket.end(attack.random.below(2) === 0 ? queryOf('from big | head 1') : '');
    await pause(attack.random.below(1000));
  },
  'early answers': async (attack) => {
    const socket = await send(attack, head('POST /pool/nope/branch/main', { 'Content-Length': 8 << 20 }));
    const piece = 'x'.repeat(1 << 16);
    let got = '';
    let fault = '';
    socket
      .on('error', (error) => {
        fault = error.message;
      })
      .pause();
    for (let i = 0; i < 128 && !socket.destroyed; i++)
      if (!socket.write(piece))
        await Promise.race([
          once(socket, 'drain').catch(() => undefined),
          once(socket, 'close').catch(() => undefined),
        ]);
    socket
      .on('data', (chunk: Buffer) => {
        got += chunk.toString();
      })
      .resume();
    if (!socket.destroyed) await once(socket, 'close').catch(() => undefined);
    // At the limit of connections one may be cut whose answer was sent.
    if (!attack.isOver && fault === '' && !got.startsWith('HTTP/1.1 404 '))
      attack.faults.push(`an early answer was lost: ${got.slice(0, 100)}`);
  },
  floods: async (attack) => {
    const socket = await attack.open();
    const text = attack.random.pick([
      () => `${head('POST /pool/p/branch/main', { 'Content-Length': 8 })}{"k":-1}`,
      () => queryOf('from p | count()'),
      () => head('GET /pool/p/branch/main'),
      () =>
        `${head('POST /pool/p', { 'Content-Length': 60 })}${`{name:"b${attack.random.below(1e9)}",commit:0x${'0'.repeat(40)}}`.padEnd(60)}`,
    ]);
    for (let i = 0; i < 50 && !socket.destroyed && !attack.isOver; i++) {
      socket.write(text());
      await Promise.race([
        once(socket, 'data').catch(() => undefined),
        once(socket, 'close').catch(() => undefined),
        pause(1000),
      ]);
    }
    socket.destroy();
  },
};
const names = Object.keys(kinds);

/** Waits and asks again where the service says so; anything else but success is a fault. */
const patient = async (ask: () => Promise<Answer>, count: (name: string) => void): Promise<Answer> => {
  for (let tries = 0; ; tries++) {
    const answer = await ask();
    if (answer.status !== 503 || answer.headers['retry-after'] === undefined || tries === 30) return answer;
    count('asked to come again');
    await pause(500);
  }
};

/** The client that behaves: what it was told is done is there. Resolves to the number of its rows. */
const behave = async (
  client: Client,
  attack: Attack,
  tell: {
    readonly count: (name: string, n?: number, how?: 'sum' | 'max') => void;
    readonly failed: (fault: string) => void;
  },
): Promise<number> => {
  let rows = 0;
  const must = async (what: string, ask: () => Promise<Answer>): Promise<Answer | undefined> => {
    const began = performance.now();
    const answer = await ask().catch((fault: unknown) => String(fault));
    tell.count(`slowest ${what} ms`, Math.round(performance.now() - began), 'max');
    if (typeof answer !== 'string' && answer.status === 200) {
      tell.count('requests that had to succeed');
      return answer;
    }
    tell.failed(`${what}: ${typeof answer === 'string' ? answer : `${answer.status} ${answer.body.slice(0, 200)}`}`);
    return undefined;
  };
  while (!attack.isOver) {
    await must('GET', () => client.ask('GET', '/pool/good/branch/main'));
    if (
      await must('load', () =>
        patient(() => client.ask('POST', '/pool/good/branch/main', { body: `{"k":${rows}}` }), tell.count),
      )
    )
      rows++;
    const long = Array.from({ length: 1000 }, (_, k) => `{"k":${rows + k}}`).join('\n');
    if (
      await must('load', () =>
        patient(
          () =>
            client.ask('POST', '/pool/good/branch/main', {
              headers: { 'content-type': 'application/json' },
              body: long,
            }),
          tell.count,
        ),
      )
    )
      rows += 1000;
    const answer = await must('query', () =>
      patient(() => client.ask('POST', '/query', { body: '{query:"from good | count()"}' }), tell.count),
    );
    if (answer && answer.body !== `[${rows}]\n`) tell.failed(`${rows} rows were loaded, the query says ${answer.body}`);
  }
  return rows;
};

/** What the service holds that is not its own: connections by the kernel's account, tasks and the like by its own. */
const held = async ({ process: { pid }, lake, address }: Service): Promise<Readonly<Record<string, number>>> => {
  const client = clientOf(address, 1);
  const { body } = await client.ask('GET', '/metrics');
  const figure = (name: string): number => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(body)?.[1]);
  const sum = (name: string): number =>
    [...body.matchAll(new RegExp(`^${name}\\{.*\\} (\\d+)$`, 'gm'))].reduce((all, [, n]) => all + Number(n), 0);
  const links = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return '';
    }
  });
  const found = {
    connections: figure('lake_http_connections') - 1,
    sockets: links.filter((link) => link.startsWith('socket:')).length,
    queries: figure('lake_queries_running') + sum('lake_queries'),
    loads: figure('lake_loads_running') + sum('lake_loads'),
    tasks: sum('lake_worker_tasks'),
    subscribers: figure('lake_events_subscribers'),
    spilled: readdirSync(join(lake, 'spill'), { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    ).length,
  };
  client.close();
  return found;
};
const settled = async (service: Service, before: Readonly<Record<string, number>>): Promise<string | undefined> => {
  let now = await held(service);
  for (
    const end = Date.now() + 60_000;
    Date.now() < end && JSON.stringify(now) !== JSON.stringify(before);
    now = await held(service)
  )
    await pause(200);
  return JSON.stringify(now) === JSON.stringify(before)
    ? undefined
    : `after the attack ${JSON.stringify(now)}, before it ${JSON.stringify(before)}`;
};

const peakMb = ({ process: { pid } }: Service): number => Math.round(residentMib(pid!, 'VmHWM') ?? NaN);

/** Nothing is pinned: what a delete took from the tip goes with a vacuum. */
const faultOfPins = async (client: Client, lake: string): Promise<string | undefined> => {
  await client.json('POST', '/pool/big/branch/main/delete', { where: 'k >= 0' });
  await client.json('POST', '/pool/big/revision/main/vacuum');
  const { object_ids: gone } = await client.json<{ readonly object_ids: readonly string[] }>(
    'POST',
    '/pool/big/revision/main/vacuum?dryrun=T',
  );
  const files = readdirSync(join(lake, 'objects'), { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  ).length;
  const left = (await client.query<{ n: number }>('from p:objects | n:=count()'))[0]?.n ?? 0;
  const good = (await client.query<{ n: number }>('from good:objects | n:=count()'))[0]?.n ?? 0;
  return gone.length === 0 && files <= left + good
    ? undefined
    : `${gone.length} objects to vacuum, ${files} files of ${left + good} objects`;
};

export const floods: PartRun = async ({ seeds, count, failed }) => {
  for (const seed of seeds) {
    const random = randomOf(seed);
    const service = await startBuiltService({ flags });
    const { address } = service;
    try {
      const client = clientOf(address, 4);
      for (const name of ['p', 'good', 'big']) await client.createPool(name);
      await client.load('big', Array.from({ length: 200_000 }, (_, k) => row(k)).join(''));
      await client.query('from big | count()');
      client.close();
      const before = await held(service);
      const attack = new Attack(random, Number(new URL(address).port));
      // Some of them know but one way: all places of one kind are taken then.
      const ways = random.below(2) === 0 ? names : [random.pick(names), random.pick(names)];
      const crowd = Array.from({ length: attackers.least + random.below(attackers.more) }, () => random.pick(ways));
      const attacking = crowd.map(async (name) => {
        while (!attack.isOver) {
          count(name);
          await kinds[name]!(attack);
          await pause(20);
        }
      });
      const good = clientOf(address, 2);
      const behaving = behave(good, attack, {
        count,
        failed: (fault) => {
          failed(seed, fault);
        },
      });
      await pause(attackMs);
      attack.end();
      await Promise.all([behaving, ...attacking]);
      good.close();
      for (const fault of attack.faults) failed(seed, fault);
      const fault = (await settled(service, before)) ?? (await faultOfPins(client, service.lake));
      if (fault !== undefined) failed(seed, fault);
      const unforeseen = service
        .printed()
        .split('\n')
        .find((line) => line.includes('"level":50'));
      if (unforeseen !== undefined) failed(seed, `the log has an error: ${unforeseen.slice(0, 500)}`);
      count('peak memory MB', peakMb(service), 'max');
      client.close();
    } catch (error) {
      failed(seed, error instanceof Error ? error.message : String(error));
    } finally {
      await service.stop();
    }
  }
};
