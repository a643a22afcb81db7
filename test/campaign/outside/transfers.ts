/**
 * Part `transfers`: 16 clients move amounts between accounts of several pools, each move one transaction, some on the
 * condition that the branches are where they were, beside updates of single pools and readers of all of them, some while
 * the service is killed. Nobody ever sees another sum, none is told to try again, and a move that was acknowledged is on
 * both of its accounts; what was not may be, on both.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { startBuiltService } from '../../support/service/built.ts';
import { type Client, clientOf, jsonType } from '../../support/service/client.ts';
import { type Random, randomOf } from '../../support/random.ts';
import type { PartRun } from '../part.ts';

const clients = 16;
const movesEach = 5;
const pools = ['p', 'q', 'r'] as const;
const accounts = 6;
const total = pools.length * accounts * 100;

/** An account of a pool. */
interface Place {
  readonly pool: string;
  readonly k: number;
}
interface Move {
  readonly number: number;
  readonly amount: number;
  readonly from: Place;
  readonly to: Place;
  readonly by: 'transaction' | 'condition';
}
const someMove = (number: number, random: Random): Move => {
  const [from, to] = random.pick([
    ['p', 'q'],
    ['q', 'p'],
    ['q', 'r'],
    ['r', 'p'],
  ] as const);
  const place = (pool: string): Place => ({ pool, k: random.below(accounts) });
  const by = random.below(4) === 0 ? 'condition' : 'transaction';
  return { number, amount: 1 + random.below(9), from: place(from), to: place(to), by };
};

/** Whether it was done; only a condition that does not hold refuses one. */
const make = async (client: Client, { number, amount, from, to, by }: Move): Promise<boolean> => {
  const commits = [
    [from, -amount],
    [to, amount],
  ] as const;
  const tips = by === 'condition' ? await Promise.all(commits.map(([{ pool }]) => client.tip(pool))) : [];
  const body = JSON.stringify({
    commits: commits.map(([{ pool, k }, change], i) => ({
      pool,
      update: { where: `k==${k}`, put: `n:=n+${change}, done:=done || ",${number}"` },
      ...(by === 'condition' && { if_match: tips[i] }),
    })),
  });
  for (;;) {
    const { status, body: answer, headers } = await client.ask('POST', '/transaction', { headers: jsonType, body });
    if (status === 503 && headers['retry-after'] !== undefined) continue;
    if (status === 412 && by === 'condition') return false;
    if (status !== 200) throw new Error(`move ${number} from ${from.pool} to ${to.pool}: ${status} ${answer}`);
    return true;
  }
};
/** A change of one pool that overtakes transactions, and changes no amount. */
const touch = async (client: Client, pool: string): Promise<void> => {
  const { status, body } = await client.ask('POST', `/pool/${pool}/branch/main/update`, {
    headers: jsonType,
    body: JSON.stringify({ where: 'true', put: 'touched:=touched+1' }),
  });
  if (status !== 200 && status !== 503) throw new Error(`update of ${pool}: ${status} ${body}`);
};
const sumOf = async (client: Client): Promise<number> => {
  const [found] = await client.query<{ readonly sum: number }>(
    `fork ${pools.map((pool) => `(from ${pool})`).join(' ')} | aggregate sum:=sum(n)`,
  );
  return found!.sum;
};

interface Row extends Place {
  readonly n: number;
  /** Numbers of moves, each behind a comma. */
  readonly done: string;
}
/** What is wrong, if anything. `known`: acknowledged; `begun`: those, and what nobody was told of. */
const faultOf = (found: readonly Row[], known: readonly Move[], begun: readonly Move[]): string | undefined => {
  const moves = new Map(begun.map((move) => [move.number, move]));
  const isKnown = new Set(known);
  const places = new Map<number, string[]>();
  for (const { pool, k, n, done } of found) {
    let amount = 100;
    for (const number of done.split(',').slice(1).map(Number)) {
      const move = moves.get(number);
      if (!move) return `account ${pool} ${k} has move ${number}, which nobody made`;
      const isFrom = move.from.pool === pool && move.from.k === k;
      amount += isFrom ? -move.amount : move.amount;
      places.set(number, [...(places.get(number) ?? []), `${isFrom ? 'from' : 'to'} ${pool} ${k}`]);
    }
    if (n !== amount) return `account ${pool} ${k} has ${n}, its moves come to ${amount}`;
  }
  for (const move of begun) {
    const { number, from, to } = move;
    const at = (places.get(number) ?? []).sort().join();
    const both = `from ${from.pool} ${from.k},to ${to.pool} ${to.k}`;
    if (at !== both && (at !== '' || isKnown.has(move))) return `move ${number} (${both}) is at ${at || 'none'}`;
  }
  return undefined;
};

export const transfers: PartRun = async ({ folder, seeds, count, failed }) => {
  for (const seed of seeds) {
    const random = randomOf(seed + 113);
    const lake = join(folder, `lake-${seed}`);
    const known: Move[] = [];
    const begun: Move[] = [];
    try {
      const service = await startBuiltService({ lake, flags: ['-workers', '2'] });
      const client = clientOf(service.address, clients + 2);
      for (const pool of pools) {
        await client.createPool(pool, 'k');
        await client.load(
          pool,
          Array.from({ length: accounts }, (_, k) => ({ pool, k, n: 100, done: '', touched: 0 })),
        );
      }
      const killAfter = seed % 3 === 2 ? random.below((clients * movesEach) / 2) : Infinity;
      let killed: Promise<number | string> | undefined;
      let working = clients;
      const untilKilled = async (work: () => Promise<void>): Promise<void> => {
        try {
          await work();
        } catch (error) {
          if (!killed) failed(seed, error instanceof Error ? error.message : String(error));
        }
      };
      const move = async (): Promise<void> => {
        for (let i = 0; i < movesEach && !killed; i++) {
          const one = someMove(begun.length, random);
          begun.push(one);
          await untilKilled(async () => {
            if (await make(client, one)) known.push(one);
            else count('conditions that did not hold');
          });
          if (known.length > killAfter) killed ??= service.end('SIGKILL');
        }
        working--;
      };
      const meanwhile = async (work: () => Promise<void>): Promise<void> => {
        while (working > 0 && !killed) await untilKilled(work);
      };
      await Promise.all([
        ...Array.from({ length: clients }, move),
        meanwhile(() => touch(client, random.pick(pools))),
        meanwhile(async () => {
          const sum = await sumOf(client);
          if (sum !== total) failed(seed, `a query saw ${sum} in place of ${total}`);
          count('sums');
        }),
      ]);
      client.close();
      await (killed ?? service.end());
      const again = await startBuiltService({ lake, flags: ['-workers', '1'] });
      const reader = clientOf(again.address, 1);
      const found = await reader.query<Row>(`fork ${pools.map((pool) => `(from ${pool})`).join(' ')}`);
      if (found.length !== pools.length * accounts) failed(seed, `${found.length} accounts`);
      const fault = faultOf(found, known, begun);
      if (fault !== undefined) failed(seed, fault);
      reader.close();
      await again.end();
      count('moves acknowledged', known.length);
      count(killed ? 'kills' : 'ends in order');
    } catch (error) {
      failed(seed, error instanceof Error ? error.message : String(error));
    }
    rmSync(lake, { recursive: true, force: true });
  }
};
