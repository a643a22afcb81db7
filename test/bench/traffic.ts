/**
 * Traffic from a process of its own, so that it does not slow down the clock of who measures: `node traffic.ts load URL
 * FILE` sends a file as a load, `node traffic.ts query URL TEXT` reads the answer of a query to its end. Prints
 * `{"status","bytes","tookMs"}`.
 */
import { createReadStream } from 'node:fs';
import { request } from 'node:http';

const [kind, url, argument] = process.argv.slice(2) as [string, string, string];
const began = performance.now();
const client = request(
  url,
  { method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json' } },
  (response) => {
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    response.on('error', (error) => {
      throw error;
    });
    response.on('end', () => {
      process.stdout.write(
        `${JSON.stringify({ status: response.statusCode, bytes, tookMs: performance.now() - began })}\n`,
      );
    });
  },
);
if (kind === 'load') createReadStream(argument, { highWaterMark: 1 << 20 }).pipe(client);
else client.end(JSON.stringify({ query: argument }));
