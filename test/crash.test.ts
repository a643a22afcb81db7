/**
 * The service is killed with SIGKILL while clients commit and delete, again and again, on one lake (promises P1 and
 * P2, mistake 10 of the reference). `KILLS=20` does it more often; `npm run campaign -- sigkill` is the large one.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Service, startBuiltService } from './support/service/built.ts';
import { type Client, clientOf, logOf } from './support/service/client.ts';
import { CrashBook, type Row, crashLoad } from './support/service/crash-load.ts';
import { median, ms, printFigures } from './support/figures.ts';
import { checkLake } from './support/service/lake-command.ts';
import { randomOf, seedOf } from './support/random.ts';

const kills = Number(process.env['KILLS'] ?? 4);

test(`${kills} SIGKILLs under load lose nothing acknowledged and leave nothing torn`, {
  timeout: 300_000,
}, async () => {
  const seed = seedOf(3);
  const random = randomOf(seed);
  const book = new CrashBook(random);
  const folder = mkdtempSync(join(tmpdir(), 'lake-crash-'));
  const lake = join(folder, 'lake');
  let service: Service | undefined;
  onTestFinished(async () => {
    await service?.end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const starts: number[] = [];
  const start = async (): Promise<Client> => {
    const began = performance.now();
    service = await startBuiltService({ lake });
    starts.push(performance.now() - began);
    return clientOf(service.address);
  };
  for (let kill = 0; kill < kills; kill++) {
    const client = await start();
    if (kill === 0) await client.createPool('p');
    if (kill % 8 !== 7) book.settle(await rowsByCommit(client));
    // Now and then right behind the start, while the orphans are swept.
    if (kill % 8 === 7) expect(await service!.end('SIGKILL')).toBe('SIGKILL');
    // Once after some large bodies, so that files are there too.
    else if (kill === 0)
      await loadUntilKilled(service!, client, book, { answers: Number.POSITIVE_INFINITY, bodies: 6, byBody: true });
    else
      await loadUntilKilled(service!, client, book, {
        answers: 3 + random.below(60),
        bodies: 1 + random.below(3),
        byBody: random.below(4) === 0,
      });
    client.close();
  }
  // As the last kill left it: files that no table names may lie there, nothing else.
  expect(soundness(await checkLake(lake))).toEqual({ status: 0, verdict: 'sound' });

  const client = await start();
  book.settle(await rowsByCommit(client));
  const wanted = [...book.entries.values()]
    .filter((entry) => entry.state === 'there')
    .flatMap((entry) => book.rows(entry));
  expect(await client.query<Row>('from p | sort n, i')).toEqual(wanted);
  // One commit each, in one line down to the first.
  const log = (await logOf(client, 'p')).filter((commit) => commit.id !== undefined);
  const ids = new Set(log.map((commit) => commit.id));
  expect(ids.size).toBe(log.length);
  for (const { n, commit } of book.entries.values())
    if (commit !== undefined && !ids.has(commit)) throw new Error(`commit ${commit} (${n}) is not in the log`);
  expect(log.slice(0, -1).map((commit) => commit.parent)).toEqual(log.slice(1).map((commit) => commit.id));
  // And it goes on.
  await client.load('p', [{ k: 1, n: -1, i: 0, text: '' }]);
  expect((await rowsByCommit(client)).get(-1)).toBe(1);
  client.close();
  expect(await service!.end()).toBe(0);
  const end = await checkLake(lake);
  expect(soundness(end)).toEqual({ status: 0, verdict: 'sound' });
  expect(end.output.split('\n')[0]).toContain(', 0 files that no table names');
  // Large bodies came through too.
  expect(Number(/^ +files +(\d+)$/m.exec(end.output)?.[1])).toBeGreaterThan(0);
  printFigures('crash', {
    seed,
    kills,
    acknowledged: book.acknowledged,
    unanswered: book.unanswered,
    'rows at the end': wanted.length,
    'start median': ms(median(starts)),
    'start longest': ms(Math.max(...starts)),
  });
});

const soundness = ({ status, output, complaint }: Awaited<ReturnType<typeof checkLake>>) => ({
  status,
  verdict: status === 0 ? output.trimEnd().split('\n').at(-1) : output + complaint,
});

const rowsByCommit = async (client: Client): Promise<ReadonlyMap<number, number>> =>
  new Map(
    (await client.query<{ n: number; count: number }>('from p | count() by n')).map(({ n, count }) => [n, count]),
  );

/** Ends the service right at an acknowledgement, or right when a large body was sent. */
const loadUntilKilled = async (
  service: Service,
  client: Client,
  book: CrashBook,
  when: { readonly answers: number; readonly bodies: number; readonly byBody: boolean },
): Promise<void> => {
  let answers = 0;
  let bodies = 0;
  let dead: Promise<number | string> | undefined;
  const kill = (): void => {
    dead ??= service.end('SIGKILL');
  };
  await crashLoad(
    client,
    book,
    { small: 6, large: 2 },
    {
      answered: () => {
        if (++answers >= when.answers) kill();
      },
      sent: () => {
        if (when.byBody && ++bodies >= when.bodies + 2) kill();
      },
    },
  );
  expect(await dead).toBe('SIGKILL');
};
