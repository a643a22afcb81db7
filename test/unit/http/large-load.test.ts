/**
 * Loads far larger than what a service may hold, in every format that streams; LARGE_MB=100 runs them with so many
 * megabytes each.
 */
import { expect, test } from 'vitest';
import { type FormatName, createWriter, mediaTypeOf } from '../../../src/formats/formats.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { floatValue, intValue, recordValue, stringValue } from '../../../src/vectors/value.ts';
import { startService } from '../../support/service/server.ts';

const megabytes = Number(process.env['LARGE_MB'] ?? 0);
/** What the process may grow by: the budget of one load, the cache, and garbage that waits. */
const grownBytesMax = 400 << 20;
const rowsOfPiece = 4096;

/** Bytes of the format until there are enough; rows are in the order of the pool's key. */
async function* body(format: FormatName, done: { rows: number }): AsyncGenerator<Uint8Array> {
  const writer = createWriter(format);
  let bytes = 0;
  while (bytes < megabytes << 20) {
    const start = done.rows;
    const rows = vectorOf(
      Array.from({ length: rowsOfPiece }, (_, i) =>
        recordValue([
          { name: 'k', value: intValue(start + i) },
          { name: 's', value: stringValue(`row ${(start + i) * 7919} of very many`) },
          { name: 'f', value: floatValue(((start + i) % 1000) / 7) },
        ]),
      ),
    );
    for (const chunk of writer.write(rows)) {
      bytes += chunk.length;
      yield chunk;
    }
    done.rows += rowsOfPiece;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  for (const chunk of writer.end()) yield chunk;
}

for (const format of ['json', 'sup', 'csv', 'tsv', 'zeek', 'line', 'bsup', 'jsup', 'arrows', 'csup'] as const) {
  test.skipIf(megabytes === 0)(
    `${megabytes} MB of ${format} are loaded in bounded memory`,
    { timeout: 600_000 },
    async () => {
      const service = await startService(['-memory', '64MiB', '-workers', '1']);
      try {
        expect((await service.ask('POST', '/pool', { body: '{name:"p",layout:{keys:[["k"]]}}' })).status).toBe(200);
        const before = process.memoryUsage.rss();
        const done = { rows: 0 };
        let peak = 0;
        const watch = setInterval(() => {
          peak = Math.max(peak, process.memoryUsage.rss());
        }, 50);
        const answer = await fetch(`${service.url}/pool/p/branch/main`, {
          method: 'POST',
          headers: { 'content-type': mediaTypeOf(format) },
          body: ReadableStream.from(body(format, done)),
          duplex: 'half',
        } as RequestInit);
        clearInterval(watch);
        expect([answer.status, await service.query('from p | count()')]).toEqual([200, `${done.rows}\n`]);
        console.log(`${format}: ${done.rows} rows, ${Math.round((peak - before) / 2 ** 20)} MB more at the most`);
        expect(peak - before).toBeLessThan(grownBytesMax);
      } finally {
        await service.close();
      }
    },
  );
}
