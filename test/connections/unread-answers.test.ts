/** Many clients that ask for long answers and do not read them: each gets the beginning, and the service stays small. */
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Service, startBuiltService } from '../support/service/built.ts';
import { type Client, clientOf, jsonType } from '../support/service/client.ts';
import { randomOf, seedOf } from '../support/random.ts';
import { residentMib } from '../support/resident.ts';

const clients = 180;
/** `-memory`, and what the process has beside it. */
const residentMibMax = 256 + 256;
const sampleEveryMs = 50;

let service: Service;
let client: Client;
beforeEach(async () => {
  service = await startBuiltService({ flags: ['-memory', '256MiB'] });
  client = clientOf(service.address, 8);
  const random = randomOf(seedOf(7));
  await client.json('POST', '/pool', { name: 'long', layout: { order: 'asc', keys: [['k']] } });
  for (let part = 0; part < 4; part++) {
    const rows = Array.from({ length: 50_000 }, (_, i) => `{"k":${part * 50_000 + i},"s":"${random.hex(160)}"}`);
    const answer = await client.ask('POST', '/pool/long/branch/main', { headers: jsonType, body: rows.join('\n') });
    expect(answer.status).toBe(200);
  }
});
afterEach(async () => {
  client?.close();
  await service?.stop();
});

/** The status of an answer of which nothing is read but its first bytes. */
const unread = (format: string, sockets: Socket[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(service.address);
    const socket = connect({ host: hostname, port: Number(port) }, () => {
      const body = JSON.stringify({ query: 'from long' });
      socket.write(
        `POST /query HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\naccept: ${format}\r\n` +
          `content-length: ${body.length}\r\n\r\n${body}`,
      );
    });
    sockets.push(socket);
    socket.on('error', reject);
    socket.once('data', (bytes) => {
      socket.pause();
      resolve(bytes.subarray(9, 12).toString('latin1'));
    });
  });

test.each(['application/x-csup', 'application/vnd.apache.parquet', 'application/vnd.apache.arrow.stream'])(
  `${clients} answers in %s that nobody reads begin, and stay within the memory of the service`,
  async (format) => {
    const sockets: Socket[] = [];
    let peak = 0;
    const watch = setInterval(() => {
      peak = Math.max(peak, residentMib(service.process.pid!, 'VmRSS') ?? 0);
    }, sampleEveryMs);
    try {
      const statuses = await Promise.all(Array.from({ length: clients }, () => unread(format, sockets)));
      expect(statuses.filter((status) => status !== '200')).toEqual([]);
    } finally {
      clearInterval(watch);
      for (const socket of sockets) socket.destroy();
    }
    expect(peak).toBeLessThan(residentMibMax);
  },
  120_000,
);
