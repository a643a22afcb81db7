/** curl, as a person types it: each line of point 10 of what clients ask, and the first lines of README. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startService, type TestService } from '../support/service/server.ts';

let service: TestService;
let folder: string;
beforeAll(async () => {
  service = await startService(['-workers', '1', '-events.heartbeat', '50ms']);
  folder = mkdtempSync(join(tmpdir(), 'lake-curl-'));
  const file = (name: string, bytes: string | Buffer): void => {
    writeFileSync(join(folder, name), bytes);
  };
  file('a.csv', 'k,s\n1,one\n2,two\n');
  file('semicolon.csv', 'k;s\n3;drei\n');
  file('pipe.csv', 'k|s\n4|vier\n');
  file('a.ndjson', '{"k":5}\n{"k":6}\n');
  file('a.ndjson.gz', gzipSync('{"k":7}\n{"k":8}\n'));
  file('large.ndjson', Array.from({ length: 60_000 }, (_, k) => `{"k":${1000 + k},"s":"row ${k}"}\n`).join(''));
});
afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true });
});

/** Types a line into a shell; what it printed. */
const type = (line: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', line.replaceAll('URL', service.url)], { cwd: folder });
    let out = '';
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
    });
    child.on('error', reject);
    child.on('close', () => {
      resolve(out);
    });
  });
const committed = /^\{commit:0x[0-9a-f]{40}::=ksuid\.KSUID,warnings:\[\]::\[string\]\}::=api\.CommitResponse\n$/;
const count = (): Promise<string> => type('curl -s URL/query -d \'{query:"from p | count()"}\'');

describe.skipIf(process.env['NO_SKIPS'] === undefined && spawnSync('curl', ['--version']).status !== 0)(
  'curl',
  { timeout: 180_000 },
  () => {
    test('-d makes a pool, loads what it is told and queries, though it claims that all of this is a form', async () => {
      expect(await type('curl -s URL/pool -d \'{name:"p",layout:{order:"asc",keys:[["k"]]}}\'')).toMatch(
        /^\{pool:\{ts:.*name:"p",.*\}::=db\.BranchMeta\n$/,
      );
      expect(await type('curl -s URL/pool/p/branch/main -d \'{k:0,s:"zero"}\'')).toMatch(committed);
      expect(await type('curl -s URL/query -d \'{query:"from p"}\'')).toBe('{k:0,s:"zero"}\n');
      // By its bytes, whatever they are.
      expect(await type('curl -s URL/pool/p/branch/main --data-binary @a.csv')).toMatch(committed);
      expect(await type('curl -s URL/pool/p/branch/main --data-binary @a.ndjson')).toMatch(committed);
      expect(await count()).toBe('5\n');
    });
    test('csv.delim is taken escaped, as | and as a bare ;', async () => {
      for (const [delimiter, file] of [
        ['%3B', 'semicolon.csv'],
        [';', 'semicolon.csv'],
        ['|', 'pipe.csv'],
        ['%7C', 'pipe.csv'],
      ] as const) {
        expect(
          await type(
            `curl -s 'URL/pool/p/branch/main?csv.delim=${delimiter}' -H 'Content-Type: text/csv' --data-binary @${file}`,
          ),
        ).toMatch(committed);
      }
      expect(
        await type(
          'curl -s URL/query -d \'{query:"from p | where s==\\"drei\\" or s==\\"vier\\" | count() by s | sort s"}\'',
        ),
      ).toBe('{s:"drei",count:2}\n{s:"vier",count:2}\n');
    });
    test('its own X-Request-Id comes back, and names the query', async () => {
      expect(
        await type(
          "curl -s -D - -o /dev/null URL/query -H 'X-Request-Id: typed by hand' -d '{query:\"values 1\"}' | grep -i x-request-id",
        ),
      ).toBe('x-request-id: typed by hand\r\n');
      expect(await type('curl -s URL/query/status/typed%20by%20hand')).toBe('{error:""}::=api.QueryError\n');
    });
    test('a body that waits for 100 Continue is sent, and read; so is gzip, told or not', async () => {
      const before = Number(await count());
      expect(
        await type(
          "curl -s -v URL/pool/p/branch/main -H 'Expect: 100-continue' -H 'Content-Type: application/json' --data-binary @large.ndjson 2>&1 | grep -c \"^< HTTP/1.1 100 Continue\"",
        ),
      ).toBe('1\n');
      expect(
        await type(
          "curl -s URL/pool/p/branch/main -H 'Content-Encoding: gzip' -H 'Content-Type: application/json' --data-binary @a.ndjson.gz",
        ),
      ).toMatch(committed);
      expect(await type('curl -s URL/pool/p/branch/main --data-binary @a.ndjson.gz')).toMatch(committed);
      expect(
        await type(
          "gzip -c a.ndjson | curl -s URL/pool/p/branch/main -H 'Transfer-Encoding: chunked' --data-binary @-",
        ),
      ).toMatch(committed);
      expect(Number(await count())).toBe(before + 60_006);
    });
    test('--compressed is answered in a coding, and the rows are the same', async () => {
      const line = (more: string): string =>
        `curl -s ${more} URL/query -H 'Accept: application/x-ndjson' -d '{query:"from p | sort k | head 5000"}'`;
      expect(await type(line('--compressed'))).toBe(await type(line('')));
      expect(await type(`${line('--compressed -D - -o /dev/null')} | grep -ic '^content-encoding'`)).toBe('1\n');
    });
    test('-N on /events shows headers at once, then each event as three lines', async () => {
      const watching = type("curl -sN -i --max-time 3 URL/events -H 'Accept: application/json'");
      await expect
        .poll(async () => (await service.ask('GET', '/metrics')).body, { timeout: 30_000 })
        .toContain('\nlake_events_subscribers 1\n');
      await type('curl -s -o /dev/null URL/pool -d \'{name:"watched"}\'');
      const shown = await watching;
      expect(shown).toMatch(/^HTTP\/1\.1 200 OK\r\n(?:.+\r\n)*content-type: text\/event-stream\r\n/i);
      expect(shown).toMatch(/\nevent: pool-new\ndata: \{"pool_id":"0x[0-9a-f]{40}"\}\nid: \d+\n\n/);
    });
    test('-f ends with its status for a fault, whose body says what it was', async () => {
      expect(await type('curl -sf URL/query -d \'{query:"from nowhere"}\'; echo $?')).toBe('22\n');
      expect(await type('curl -s -w "%{http_code} %{content_type}" URL/query -d \'{query:"head x"}\'')).toMatch(
        /^\{"type":"Error","kind":"invalid operation",.*\}\n400 application\/json$/,
      );
    });
    test('-X with a method of its own, -T and --json do what they say', async () => {
      expect(await type('curl -s -o /dev/null -w "%{http_code}" -X PUT URL/pool/watched -d \'{name:"seen"}\'')).toBe(
        '204',
      );
      expect(await type('curl -s -X POST -T a.ndjson URL/pool/seen/branch/main')).toMatch(committed);
      expect(
        await type(
          "curl -s URL/query -H 'Content-Type: application/json' -H 'Accept: application/json' -d '{\"query\":\"from seen | count()\"}'",
        ),
      ).toBe('[2]\n');
      expect(await type('curl -s -o /dev/null -w "%{http_code}" -X DELETE URL/pool/seen')).toBe('204');
    });
  },
);
