/** Rows for benchmarks: three shapes in time order, some 190 bytes a row, the same on every run. */
import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { randomOf } from '../support/random.ts';

const start = Date.UTC(2026, 0, 1);
const methods = ['GET', 'GET', 'GET', 'POST', 'PUT', 'DELETE'];
const protocols = ['tcp', 'udp', 'icmp'];
const statuses = [200, 200, 200, 200, 301, 404, 500];

/** Writes so many rows of NDJSON into a file. */
export const writeEvents = async (path: string, rows: number): Promise<void> => {
  const random = randomOf(1);
  const out = createWriteStream(path);
  const address = (): string => `10.${random.below(256)}.${random.below(256)}.${random.below(256)}`;
  const event = (i: number): unknown => {
    const head = { ts: new Date(start + i * 137 + random.below(100)).toISOString() };
    const uid = `C${random.hex(10)}`;
    const shape = random.below(100);
    if (shape < 60) {
      return {
        ...head,
        kind: 'http',
        uid,
        user: `user${random.below(20_000)}`,
        src: address(),
        method: random.pick(methods),
        path: `/api/v${1 + random.below(3)}/items/${random.below(100_000)}`,
        status: random.pick(statuses),
        bytes: Math.floor(Math.exp(random.below(1400) / 100)),
        dur: random.below(5_000_000) / 1e6,
      };
    }
    if (shape < 95) {
      return {
        ...head,
        kind: 'conn',
        uid,
        src: address(),
        dst: address(),
        port: random.below(65_536),
        proto: random.pick(protocols),
        orig_bytes: Math.floor(Math.exp(random.below(1200) / 100)),
        resp_bytes: Math.floor(Math.exp(random.below(1600) / 100)),
        dur: random.below(10) === 0 ? null : random.below(60_000_000) / 1e6,
      };
    }
    return {
      ...head,
      kind: 'alert',
      uid,
      severity: random.below(5),
      tags: [random.pick(['a', 'b', 'c']), random.pick(['x', 'y', 'z'])],
      http: { method: random.pick(methods), host: `h${random.below(500)}.example.com` },
      msg: `alert ${random.below(1000)} triggered by rule ${random.below(50)}`,
    };
  };
  for (let i = 0; i < rows; ) {
    const lines: string[] = [];
    for (const end = Math.min(rows, i + 10_000); i < end; i++) lines.push(JSON.stringify(event(i)));
    if (!out.write(`${lines.join('\n')}\n`)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'close');
};
