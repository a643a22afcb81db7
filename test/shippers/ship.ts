/**
 * Programs ship to a service that is killed (SIGKILL) and started again, all at once: what each of them has brought into
 * its pool in the end.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Service, startBuiltService } from '../support/service/built.ts';
import type { Running, Shipper } from './shippers.ts';
import { freePort } from '../support/service/free-port.ts';

/** Records in the pool of a program, and different ones among them. */
export interface Shipped {
  readonly records: number;
  readonly different: number;
  /** What the program said. */
  readonly said: string;
}
interface Plan {
  readonly records: number;
  readonly kills: number;
  /** How long to wait for what is to come. */
  readonly waitMs: number;
  readonly told?: (text: string) => void;
}

const lookMs = 50;
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, lookMs));

/** Lets the programs ship; by their names. */
export const ship = async (
  shippers: readonly Shipper[],
  { records, kills, waitMs, told = () => undefined }: Plan,
): Promise<ReadonlyMap<string, Shipped>> => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-shippers-'));
  const place = { http: await freePort(), syslog: await freePort() };
  const start = (): Promise<Service> =>
    startBuiltService({
      lake: join(folder, 'lake'),
      port: place.http,
      flags: ['-syslog', `127.0.0.1:${place.syslog}`, '-syslog.pool', 'listened', '-syslog.delay', '100ms'],
    });
  const running = new Map<Shipper, Running>();
  let service = await start();
  try {
    // Plain loads go into pools that are there.
    const made = await fetch(`${service.address}/pool`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: '{"name":"orders"}',
    });
    if (made.status !== 200) throw new Error(await made.text());
    for (const [k, shipper] of shippers.entries()) {
      const own = join(folder, String(k));
      mkdirSync(own);
      running.set(shipper, await shipper.start({ ...place, folder: own }));
    }
    const piece = Math.ceil(records / (kills + 1));
    let feeding: readonly Promise<void>[] = [];
    for (let round = 0; round <= kills; round++) {
      await Promise.all(feeding);
      const before = new Map<Shipper, number>();
      for (const shipper of shippers) before.set(shipper, (await counted(service, shipper)).records);
      const end = Math.min(records, (round + 1) * piece);
      feeding = [...running.values()].map((one) => one.feed(round * piece, end));
      if (round === kills) break;
      // It is killed when some of it has come: more is under way.
      const until = performance.now() + waitMs;
      for (const shipper of shippers)
        while (performance.now() < until && (await counted(service, shipper)).records === before.get(shipper))
          await pause();
      await service.end('SIGKILL');
      service = await start();
      told(`killed and started, ${round + 1} of ${kills}`);
    }
    await Promise.all(feeding);
    const until = performance.now() + waitMs;
    const shipped = new Map<string, Shipped>();
    for (const shipper of shippers) {
      const wanted = shipper.sureness === 'some lost' ? 1 : records;
      let found = await counted(service, shipper);
      while (performance.now() < until && found.different < wanted) {
        await pause();
        found = await counted(service, shipper);
      }
      shipped.set(shipper.name, { ...found, said: running.get(shipper)!.said() });
      told(`${shipper.name}: ${found.records} records, ${found.different} different`);
    }
    return shipped;
  } catch (problem) {
    throw new Error(`the service printed: ${service.printed()}`, { cause: problem });
  } finally {
    for (const one of running.values()) await one.stop();
    await service.end();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
};

const counted = async (
  { address }: Service,
  { pool, text }: Shipper,
): Promise<{ readonly records: number; readonly different: number }> => {
  const answer = await fetch(`${address}/query`, {
    method: 'POST',
    headers: { 'content-type': 'text/plain', accept: 'application/json' },
    body: `from ${pool} | aggregate records:=count(), different:=count(distinct ${text})`,
  });
  const body = await answer.text();
  // A pool that is not there yet.
  if (answer.status === 400 && body.includes('pool not found')) return { records: 0, different: 0 };
  if (answer.status !== 200) throw new Error(`${pool}: ${answer.status} ${body}`);
  const [found] = JSON.parse(body) as { readonly records: number; readonly different: number }[];
  return found ?? { records: 0, different: 0 };
};
