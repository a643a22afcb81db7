/**
 * Part `copies`: who takes the lake elsewhere while it changes without a pause. Engines ask for an Iceberg table and read
 * the metadata that they are told of, and the folder is cloned, beside commits, deletes, compactions, vacuums and pools
 * that go and come: each ask is answered, what it names is there, each clone is sound and has one moment of the pool.
 */
import { join } from 'node:path';
import { startBuiltService } from '../../support/service/built.ts';
import { type Client, clientOf, jsonType } from '../../support/service/client.ts';
import { runProgram } from '../../support/service/lake-command.ts';
import { type Random, randomOf } from '../../support/random.ts';
import type { PartRun } from '../part.ts';

const askers = 4;
const clonesPerSeed = 1;
/** Rows of each load: a file of its own, and as many in each moment of the pool as loads were before it. */
const rowsPerLoad = 3000;

interface Tools {
  readonly client: Client;
  readonly random: Random;
  readonly count: (name: string, n?: number) => void;
  readonly isOver: () => boolean;
}
/** One request whose status must be among those. */
const must = async (client: Client, method: string, path: string, statuses: readonly number[], body?: unknown) => {
  const answer = await client.ask(method, path, {
    ...(body !== undefined && { headers: jsonType, body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  if (!statuses.includes(answer.status))
    throw new Error(`${method} ${path}: ${answer.status} ${answer.body.slice(0, 300)}`);
  return answer;
};

/** Loads whole batches, and rewrites and removes their files. */
const churn = async ({ client, random, count, isOver }: Tools): Promise<void> => {
  const text = Array.from({ length: rowsPerLoad }, (_, k) => `{"k":${k},"x":${Math.sin(k)}}`).join('\n');
  while (!isOver()) {
    await must(client, 'POST', '/pool/kept/branch/main', [200], text);
    count('loads');
    if (random.below(3) > 0) continue;
    const found = await client.query<string>('from kept@main:objects | values ksuid(id)');
    await must(client, 'POST', '/pool/kept/branch/main/compact', [200, 400], { object_ids: found });
    await must(client, 'POST', '/pool/kept/revision/main/vacuum', [200]);
    count('vacuums');
  }
};
/** A pool whose rows change, and which goes and comes. */
const come = async ({ client, random, isOver }: Tools): Promise<void> => {
  while (!isOver()) {
    const { status } = await client.ask('POST', '/pool/brief/branch/main', { headers: jsonType, body: '{"k":1}' });
    if (status !== 200 || random.below(8) === 0) {
      await must(client, 'DELETE', '/pool/brief', [204, 404]);
      await must(client, 'POST', '/pool', [200], { name: 'brief', iceberg: random.pick(['lazy', 'eager']) });
    }
    if (random.below(4) === 0)
      await must(client, 'POST', '/pool/brief/branch/main/delete', [200, 400], { where: 'k==1' });
  }
};
/** An engine: a table's metadata are a file that is there, as long as its pool is. */
const ask = async ({ client, random, count, isOver }: Tools): Promise<void> => {
  while (!isOver()) {
    const name = random.pick(['kept', 'brief']);
    const lost = name === 'kept' ? [] : [404];
    const table = await must(client, 'GET', `/iceberg/v1/lake/namespaces/lake/tables/${name}`, [200, 503, ...lost]);
    count(table.status === 200 ? 'tables asked for' : 'tables not there or not ready');
    if (table.status !== 200) continue;
    const { 'metadata-location': location, metadata } = JSON.parse(table.body) as Readonly<Record<string, unknown>>;
    const file = await must(client, 'GET', String(location).replace('s3:/', '/s3'), [200, ...lost]);
    if (file.status === 200 && JSON.stringify(JSON.parse(file.body)) !== JSON.stringify(metadata))
      throw new Error(`${String(location)} is not what its table said`);
  }
};

/** Clones the folder; each clone must be sound. */
const clone = async ({ client, count }: Tools, lake: string, to: string): Promise<void> => {
  const rowsNow = async (): Promise<number> => Number((await client.query<number>('from kept | count()'))[0] ?? 0);
  const before = await rowsNow();
  const cloned = await runProgram(['clone', lake, to]);
  if (cloned.status !== 0) throw new Error(`clone: ${cloned.complaint}`);
  const after = await rowsNow();
  const sound = await runProgram(['fsck', '-lake', to]);
  if (sound.status !== 0) throw new Error(`fsck: ${sound.output}${sound.complaint}`);
  const shown = await runProgram(['shell', '-lake', to, '-c', 'from kept | count()']);
  const rows = Number(shown.output);
  if (!(rows >= before && rows <= after && rows % rowsPerLoad === 0))
    throw new Error(`the clone has ${shown.output.trim()} rows, the pool had ${before} before and ${after} after`);
  count('clones');
};

const run = async (seed: number, folder: string, count: Tools['count']): Promise<void> => {
  const service = await startBuiltService();
  const client = clientOf(service.address);
  let isOver = false;
  const tools = (place: number): Tools => ({
    client,
    random: randomOf(seed * 16 + place),
    count,
    isOver: () => isOver,
  });
  try {
    const layout = { order: 'asc', keys: [['k']] };
    await must(client, 'POST', '/pool', [200], { name: 'kept', layout, iceberg: 'lazy' });
    const ends = [churn(tools(0)), come(tools(1))];
    for (let i = 0; i < askers; i++) ends.push(ask(tools(2 + i)));
    const going = Promise.all(ends);
    going.catch(() => undefined);
    try {
      for (let i = 0; i < clonesPerSeed; i++)
        await Promise.race([going, clone(tools(2 + askers), service.lake, join(folder, `${seed}-${i}`))]);
    } finally {
      isOver = true;
    }
    await going;
  } finally {
    client.close();
    await service.stop();
  }
};

export const copies: PartRun = async ({ folder, seeds, count, failed }) => {
  for (const seed of seeds) {
    try {
      await run(seed, folder, count);
    } catch (fault) {
      failed(seed, fault instanceof Error ? fault.message : String(fault));
    }
  }
};
