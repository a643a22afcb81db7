/** Answers of many chunks: the memory of chunks that were sent is used again, while other answers are on their way. */
import http from 'node:http';
import { expect, test } from 'vitest';
import { startService } from '../../support/service/server.ts';

const rows = 40_000;
const lineOf = (i: number): string =>
  `{"k":${i},"text":"row ${i * 7919} of many","few":"${['one', 'two "2"', 'three'][i % 3]!.replaceAll('"', '\\"')}","f":${(i % 1000) / 8}}`;

/** The whole body; a reader of some patience stops for a moment at every so many bytes. */
const bodyOf = (url: string, accept: string, pauseMs = 0): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const request = http.request(
      `${url}/query`,
      { method: 'POST', headers: { accept, 'content-type': 'application/json' }, agent: false },
      (response) => {
        const parts: Buffer[] = [];
        let since = 0;
        response.on('data', (part: Buffer) => {
          parts.push(part);
          since += part.length;
          if (pauseMs === 0 || since < 1 << 19) return;
          since = 0;
          response.pause();
          setTimeout(() => {
            response.resume();
          }, pauseMs);
        });
        response.on('end', () => {
          resolve(Buffer.concat(parts));
        });
        response.on('error', reject);
      },
    );
    request.on('error', reject);
    request.end(JSON.stringify({ query: 'from p' }));
  });

test('answers of many chunks are whole, for quick and slow readers side by side', { timeout: 300_000 }, async () => {
  const service = await startService(['-workers', '1']);
  try {
    expect((await service.ask('POST', '/pool', { body: '{name:"p",layout:{order:"asc",keys:[["k"]]}}' })).status).toBe(
      200,
    );
    const lines = Array.from({ length: rows }, (_, i) => lineOf(i));
    const headers = { 'content-type': 'application/json' };
    expect((await service.ask('POST', '/pool/p/branch/main', { headers, body: lines.join('\n') })).status).toBe(200);
    const expected = `${lines.join('\n')}\n`;
    for (let round = 0; round < 1; round++) {
      const [quick, slow, array, gone] = await Promise.all([
        bodyOf(service.url, 'application/x-ndjson'),
        bodyOf(service.url, 'application/x-ndjson', 20),
        bodyOf(service.url, 'application/json', 5),
        leaving(service.url),
      ]);
      expect(quick.toString() === expected).toBe(true);
      expect(slow.toString() === expected).toBe(true);
      expect(array.toString() === `[${lines.join(',')}]\n`).toBe(true);
      expect(gone).toBeGreaterThan(0);
    }
    const sup = await bodyOf(service.url, 'application/x-sup');
    const bsup = await bodyOf(service.url, 'application/x-bsup', 30);
    expect(sup.toString().split('\n').length).toBe(rows + 1);
    const again = await service.ask('POST', '/pool', { body: '{name:"q",layout:{order:"asc",keys:[["k"]]}}' });
    expect(again.status).toBe(200);
    expect(
      (
        await service.ask('POST', '/pool/q/branch/main', {
          headers: { 'content-type': 'application/x-bsup' },
          body: bsup,
        })
      ).status,
    ).toBe(200);
    expect(await service.query('from q | count()')).toBe(`${rows}\n`);
    expect(await service.query('from q | k==39999')).toBe(await service.query('from p | k==39999'));
  } finally {
    await service.close();
  }
});

/** Bytes that a client had when it went away. */
const leaving = (url: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const request = http.request(
      `${url}/query`,
      { method: 'POST', headers: { accept: 'application/x-ndjson', 'content-type': 'application/json' }, agent: false },
      (response) => {
        response.once('data', (part: Buffer) => {
          response.destroy();
          resolve(part.length);
        });
        response.on('error', () => undefined);
      },
    );
    request.on('error', reject);
    request.end(JSON.stringify({ query: 'from p' }));
  });
