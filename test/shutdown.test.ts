/** The end of the service: what it still does, what it refuses, that it ends in time. Real processes and signals. */
import { afterEach, describe, expect, test } from 'vitest';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Service, startBuiltService } from './support/service/built.ts';
import { clientOf } from './support/service/client.ts';

let services: Service[] = [];
afterEach(async () => {
  // The last one first: it may work in the folder that the stop of an earlier one removes.
  for (const service of services.reverse()) await service.stop();
  services = [];
});
const start = async (...flags: readonly string[]): Promise<Service> => {
  const service = await startBuiltService({ flags });
  services.push(service);
  return service;
};

describe('SIGTERM', () => {
  test('what is under way is finished, event streams end, the exit status is 0, and all that was acknowledged is there', async () => {
    const service = await start('-shutdown.grace', '5s');
    const client = clientOf(service.address);
    await client.createPool('p');
    const events = await client.events();
    // A load whose body still comes when the signal does.
    const loaded = new Promise<number>((resolve, reject) => {
      const load = request(`${service.address}/pool/p/branch/main`, { method: 'POST', agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode!);
      });
      load.on('error', reject);
      load.write('{"k":1}\n');
      setTimeout(() => {
        service.process.kill('SIGTERM');
        setTimeout(() => {
          load.end('{"k":2}\n');
        }, 200);
      }, 100);
    });
    expect(await loaded).toBe(200);
    const seen = (await events.until(1)).map(({ kind }) => kind);
    expect(seen).toEqual(['pool-commit']);
    expect(await service.ended).toBe(0);
    client.close();
    const again = await startBuiltService({ lake: service.lake });
    const later = clientOf(again.address);
    services.push(again);
    expect(await later.query<{ k: number }>('from p | sort k | cut k')).toEqual([{ k: 1 }, { k: 2 }]);
    later.close();
  });

  test('a connection whose answer came after the signal is not waited for', async () => {
    const service = await start('-shutdown.grace', '10m');
    const client = clientOf(service.address, 1);
    await client.createPool('p');
    const agent = new Agent({ keepAlive: true });
    const status = await new Promise<number>((resolve, reject) => {
      const load = request(`${service.address}/pool/p/branch/main`, { method: 'POST', agent }, (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode!));
      });
      load.on('error', reject);
      load.write('{"k":1}\n');
      setTimeout(() => {
        service.process.kill('SIGTERM');
        setTimeout(() => load.end('{"k":2}\n'), 200);
      }, 100);
    });
    expect(status).toBe(200);
    expect(await service.ended).toBe(0);
    agent.destroy();
    client.close();
  });

  test('a connection that stays open is told that no work is taken', async () => {
    const service = await start('-shutdown.grace', '3s');
    const client = clientOf(service.address, 1);
    await client.createPool('p');
    const slow = request(`${service.address}/pool/p/branch/main`, { method: 'POST', agent: false });
    slow.on('error', () => undefined);
    slow.write('{"k":1}\n');
    const held = clientOf(service.address, 1);
    expect((await held.ask('GET', '/ready')).body).toBe('ready');
    await new Promise((resolve) => {
      setTimeout(resolve, 100);
    });
    const stays = held.ask('POST', '/query', {
      headers: { 'content-type': 'application/json' },
      body: '{"query":"from :pools"}',
    });
    expect((await stays).status).toBe(200);
    service.process.kill('SIGTERM');
    // Whoever gets through meanwhile is refused; who does not sees the connection end.
    const after = await held
      .ask('POST', '/query', { headers: { 'content-type': 'application/json' }, body: '{"query":"from :pools"}' })
      .catch(() => undefined);
    if (after !== undefined && after.status !== 200) expect(after.body).toContain('service is shutting down');
    expect(await service.ended).toBe(0);
    slow.destroy();
    client.close();
    held.close();
  });

  test('a subscriber and a reader that left are not waited for', async () => {
    const service = await start('-shutdown.grace', '45s');
    const client = clientOf(service.address);
    await client.createPool('p');
    await client.load(
      'p',
      Array.from({ length: 5000 }, (_, k) => ({ k })),
    );
    const events = await client.events();
    const reader = request(`${service.address}/query`, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json', accept: 'application/x-ndjson' },
    });
    reader.on('error', () => undefined);
    await new Promise<void>((resolve) => {
      reader.on('response', (response) => {
        response.once('data', () => resolve()).on('error', () => undefined);
      });
      reader.end(JSON.stringify({ query: 'select a.k from p a, p b' }));
    });
    const listening = async (): Promise<string | undefined> =>
      /^lake_events_subscribers (\d+)$/m.exec((await client.ask('GET', '/metrics')).body)?.[1];
    expect(await listening()).toBe('1');
    reader.destroy();
    events.close();
    await expect.poll(listening).toBe('0');
    const began = performance.now();
    expect(await service.end()).toBe(0);
    expect(performance.now() - began).toBeLessThan(40_000);
    client.close();
  });

  test('a client that never ends is cut off after the grace', async () => {
    const service = await start('-shutdown.grace', '300ms');
    const client = clientOf(service.address);
    await client.createPool('p');
    const slow = request(`${service.address}/pool/p/branch/main`, { method: 'POST', agent: false });
    const ended = new Promise<void>((resolve) => {
      slow.on('error', () => resolve()).on('close', () => resolve());
    });
    slow.write('{"k":1}\n');
    await client.query('from :pools');
    expect(await service.end()).toBe(0);
    await ended;
    client.close();
  });

  test('a signal to the process and to its group, as of `timeout`, is one', async () => {
    const service = await start('-shutdown.grace', '1s');
    const client = clientOf(service.address);
    await client.createPool('p');
    const slow = request(`${service.address}/pool/p/branch/main`, { method: 'POST', agent: false });
    slow.on('error', () => undefined);
    slow.write('{"k":2}\n');
    await client.query('from :pools');
    service.process.kill('SIGTERM');
    // Of one name two that nobody has taken up yet are one by themselves.
    service.process.kill('SIGINT');
    await sleep(100);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(service.printed()).not.toContain('cut off');
    slow.destroy();
    client.close();
  });

  test('a second signal ends it at once, and loses nothing', async () => {
    const service = await start('-shutdown.grace', '60s');
    const client = clientOf(service.address);
    await client.createPool('p');
    const commit = await client.load('p', [{ k: 1 }]);
    const slow = request(`${service.address}/pool/p/branch/main`, { method: 'POST', agent: false });
    slow.on('error', () => undefined);
    slow.write('{"k":2}\n');
    await client.query('from :pools');
    service.process.kill('SIGTERM');
    await expect
      .poll(async () => (await client.ask('GET', '/ready').catch(() => ({ body: 'closed' }))).body)
      .not.toBe('ready');
    await sleep(600);
    expect(await service.end('SIGTERM')).toBe(1);
    slow.destroy();
    client.close();
    const again = await startBuiltService({ lake: service.lake });
    const later = clientOf(again.address);
    services.push(again);
    expect(await later.tip('p')).toBe(commit);
    later.close();
  });
});
