/**
 * Part `updates`: 64 clients change the same records, by SQL and by filter, and insert what they read, some while the
 * service is killed. Each change that was acknowledged is in each of its records once; what was not may be, whole.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { startBuiltService } from '../../support/service/built.ts';
import { type Client, clientOf, jsonType } from '../../support/service/client.ts';
import { type Random, randomOf } from '../../support/random.ts';
import type { PartRun } from '../part.ts';

const clients = 64;
const changesEach = 4;
const rows = 24;

/** Records from `start` to before `end` get one bit of their own: the change's number in their list. */
interface Change {
  readonly number: number;
  readonly start: number;
  readonly end: number;
  readonly by: 'sql' | 'filter' | 'insert';
}
const someChange = (number: number, random: Random): Change => {
  const start = random.below(rows);
  return { number, start, end: start + 1 + random.below(rows - start), by: random.pick(['sql', 'filter', 'insert']) };
};

const make = async (client: Client, { number, start, end, by }: Change): Promise<number> => {
  const where = `k >= ${start} and k < ${end}`;
  for (;;) {
    const { status, body, headers } =
      by === 'sql'
        ? await client.ask('POST', '/query', {
            headers: jsonType,
            body: JSON.stringify({ query: `update p set done = done || ',${number}', n = n + 1 where ${where}` }),
          })
        : by === 'filter'
          ? await client.ask('POST', '/pool/p/branch/main/update', {
              headers: jsonType,
              body: JSON.stringify({ where, put: `done:=done || ",${number}", n:=n+1` }),
            })
          : await client.ask('POST', '/query', {
              headers: jsonType,
              body: JSON.stringify({
                query: `insert into log select ${number} as number, n from p where k = ${start}`,
              }),
            });
    if (status === 503 && headers['retry-after'] !== undefined) continue;
    if (status !== 200) throw new Error(`${by} ${where}: ${status} ${body.slice(0, 300)}`);
    return status;
  }
};

interface Row {
  readonly k: number;
  readonly n: number;
  /** Numbers of changes, each behind a comma. */
  readonly done: string;
}
/** What is wrong, if anything. `known`: acknowledged; `begun`: those, and what nobody was told of. */
const faultOf = (found: readonly Row[], known: readonly Change[], begun: readonly Change[]): string | undefined => {
  if (found.map(({ k }) => k).join() !== Array.from({ length: rows }, (_, k) => k).join())
    return `records ${found.map(({ k }) => k).join()}`;
  const hits = (change: Change, k: number): boolean => change.by !== 'insert' && change.start <= k && k < change.end;
  const numbers = ({ done }: Row): readonly number[] => done.split(',').slice(1).map(Number);
  for (const row of found) {
    const { k, n } = row;
    const done = numbers(row);
    const own = new Set(done);
    if (own.size !== done.length || n !== done.length) return `record ${k}: n is ${n}, done ${done.join()}`;
    const lost = known.find((change) => hits(change, k) && !own.has(change.number));
    if (lost) return `record ${k} lacks change ${lost.number} (${lost.by})`;
    const strange = done.find((number) => !begun.some((change) => change.number === number && hits(change, k)));
    if (strange !== undefined) return `record ${k} has change ${strange}`;
  }
  const torn = begun.find((change) => {
    const places = found.filter(({ k }) => hits(change, k)).map((row) => numbers(row).includes(change.number));
    return places.includes(true) && places.includes(false);
  });
  return torn && `change ${torn.number} (${torn.by}) is in some of its records`;
};

export const updates: PartRun = async ({ folder, seeds, count, failed }) => {
  for (const seed of seeds) {
    const random = randomOf(seed + 71);
    const lake = join(folder, `lake-${seed}`);
    const known: Change[] = [];
    const begun: Change[] = [];
    try {
      const service = await startBuiltService({ lake, flags: ['-workers', '2'] });
      const client = clientOf(service.address, clients);
      await client.createPool('p');
      await client.createPool('log', 'number');
      const each = [rows, rows / 2, rows / 3, 1][seed % 4]!;
      for (let k = 0; k < rows; k += each)
        await client.load(
          'p',
          Array.from({ length: each }, (_, i) => ({ k: k + i, n: 0, done: '' })),
        );
      const killAfter = seed % 3 === 2 ? random.below((clients * changesEach) / 2) : Infinity;
      let killed: Promise<number | string> | undefined;
      const change = async (): Promise<void> => {
        for (let i = 0; i < changesEach && !killed; i++) {
          const one = someChange(begun.length, random);
          begun.push(one);
          try {
            await make(client, one);
            known.push(one);
          } catch (error) {
            if (!killed) failed(seed, error instanceof Error ? error.message : String(error));
          }
          if (known.length > killAfter) killed ??= service.end('SIGKILL');
        }
      };
      await Promise.all(Array.from({ length: clients }, change));
      client.close();
      await (killed ?? service.end());
      const again = await startBuiltService({ lake, flags: ['-workers', '1'] });
      const reader = clientOf(again.address, 1);
      const found = await reader.query<Row>('from p | sort k');
      const fault = faultOf(found, known, begun);
      if (fault !== undefined) failed(seed, fault);
      const inserted = await reader.query<{ number: number; n: number }>('from log');
      const numbers = new Set(inserted.map(({ number }) => number));
      if (numbers.size !== inserted.length) failed(seed, 'an insert is there twice');
      const lost = known.find(({ by, number }) => by === 'insert' && !numbers.has(number));
      if (lost) failed(seed, `insert ${lost.number} is lost`);
      reader.close();
      await again.end();
      count('changes acknowledged', known.length);
      count(killed ? 'kills' : 'ends in order');
    } catch (error) {
      failed(seed, error instanceof Error ? error.message : String(error));
    }
    rmSync(lake, { recursive: true, force: true });
  }
};
