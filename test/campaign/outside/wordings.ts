/**
 * Part `wordings`: a question that is asked in several ways has one answer. Rows with the ends of every type, kept in
 * objects with blocks, are filtered by constants at and beyond those ends: from the scan, behind an operator that takes
 * them off the scan, by the opposite, and as counts; as they were loaded, on a branch where they were rewritten, and at
 * the commit before; the pool is in the order of any of the columns. Partitions of windows have as many rows as groups,
 * in SELECT, and a join by equal keys of several types finds what their comparison one by one finds.
 */
import { startBuiltService } from '../../support/service/built.ts';
import { type Client, clientOf, jsonType } from '../../support/service/client.ts';
import { type Random, randomOf } from '../../support/random.ts';
import type { PartRun } from '../part.ts';

const conditionsPerSeed = 24;
const rowsPerSeed = 60;
/** So long are rows together that they are an object of their own. */
const padding = 'x'.repeat(2000);

/** Columns and what they hold: both ends of their type, and near them. */
const columns: Readonly<Record<string, readonly string[]>> = {
  i: ['-9223372036854775808', '-9223372036854775807', '-1', '0', '1', '9223372036854775806', '9223372036854775807'],
  u: ['0::uint64', '1::uint64', '18446744073709551614::uint64', '18446744073709551615::uint64'],
  small: ['-128::int8', '127::int8', '0::int8'],
  f: ['-Inf', '+Inf', 'NaN', '-0.', '0.', '5e-324', '9007199254740993.', '9223372036854775807.', '1.5'],
  t: ['1677-09-21T00:12:43.145224192Z', '2262-04-11T23:47:16.854775807Z', '1970-01-01T00:00:00Z'],
  d: ['-106751d23h47m16.854775808s', '106751d23h47m16.854775807s', '0s', '1ns'],
  n: ['1.25', '"1234567890123456.785"::=sql_decimal', '"1234567890123456.78"::=sql_decimal', '2', '2.'],
  s: ['""', '"a"', '"\\u0000"', '"\\uffff"', '"é"'],
  several: ['1', '"1"', 'true', '"x"', '2.5', '"true"', '0', 'false', '1.'],
  mixed: ['-9223372036854775808', '18446744073709551615::uint64', 'NaN', '"a"', 'null', '127::int8', '0s'],
};
const names = Object.keys(columns);
/** As a query writes them: its whole numbers have 64 bits, with a sign. */
const isConstant = (value: string): boolean => !value.includes('::') && !value.includes('e-');
/** Few values a seed, so that a block may hold one alone. */
const rowOf = (random: Random, id: number, values: Readonly<Record<string, readonly string[]>>): string => {
  const fields = names.flatMap((name) =>
    random.below(12) === 0 ? [] : [`${name}:${random.below(12) === 0 ? 'null' : random.pick(values[name]!)}`],
  );
  return `{id:${id},pad:"${padding}",${fields.join(',')}}`;
};
const conditionOf = (random: Random): string => {
  const name = random.pick(names);
  const constants = random.pick([columns[name]!, columns['i']!, columns['mixed']!]).filter(isConstant);
  const operator = random.pick(['==', '!=', '<', '<=', '>', '>=']);
  const test = random.pick([
    (x: string) => `${name} ${operator} ${x}`,
    (x: string) => `${x} ${operator} ${name}`,
    (x: string) => `not (${name} ${operator} ${x})`,
    (x: string) => `${name} in [${x},${random.pick(constants)}]`,
  ])(random.pick(constants.length > 0 ? constants : columns['i']!));
  return random.below(3) === 0 ? `(${test} ${random.pick(['and', 'or'])} ${conditionOf(random)})` : test;
};

const answerOf = async (client: Client, query: string): Promise<string> => {
  const { status, body } = await client.ask('POST', '/query', {
    headers: { ...jsonType, accept: 'application/x-sup' },
    body: JSON.stringify({ query }),
  });
  return status === 200 ? body.trimEnd().split('\n').sort().join(' ') : `${status} ${body}`;
};
/** The same question in other words; the first one is asked of the scan. */
const wordingsOf = (condition: string, [fresh, ...others]: readonly string[]): readonly string[] => [
  ...[fresh!, ...others].map((pool) => `from ${pool} | where ${condition} | values id`),
  `from ${fresh} | tail 1000000 | where ${condition} | values id`,
  `from ${fresh} | values {id,passes:(${condition})} | where passes==true | values id`,
];

/** A pool, where its rows are in as many ways. */
const kept = async (client: Client, pool: string, rows: readonly string[], random: Random) => {
  const layout = { order: random.pick(['asc', 'desc']), keys: [[random.pick(['id', 'i', 'zz', ...names])]] };
  await client.json('POST', '/pool', { name: pool, layout });
  for (const half of [rows.slice(0, rows.length / 2), rows.slice(rows.length / 2)])
    await client.load(pool, half.join('\n'));
  const tip = await client.tip(pool);
  await client.json('POST', `/pool/${pool}`, { name: 'trial', commit: tip });
  await client.load(pool, `{id:-1,pad:"${padding}"}`, 'trial');
  const objects = await client.query<{ readonly id: string }>(`from ${pool}@trial:objects | cut id`);
  await client.json('POST', `/pool/${pool}/branch/trial/compact`, { object_ids: objects.map(({ id }) => id) });
  await client.json('POST', `/pool/${pool}/branch/trial/delete`, { where: 'id==-1' });
  return [pool, `${pool}@trial`, `${pool}@${tip}`];
};

export const wordings: PartRun = async ({ seeds, count, failed }) => {
  const service = await startBuiltService({ flags: ['-workers', '1'] });
  const client = clientOf(service.address, 4);
  const compare = async (seed: number, queries: readonly string[]): Promise<void> => {
    const [wanted, ...found] = await Promise.all(queries.map((query) => answerOf(client, query)));
    const wrong = found.findIndex((answer) => answer !== wanted);
    if (wrong >= 0)
      failed(seed, `${queries[0]}: ${wanted!.slice(0, 200)}\n${queries[wrong + 1]}: ${found[wrong]!.slice(0, 200)}`);
    count('comparisons', found.length);
  };
  try {
    for (const seed of seeds) {
      const random = randomOf(seed);
      const values = Object.fromEntries(
        names.map((name) => [name, random.below(2) === 0 ? columns[name]! : [random.pick(columns[name]!)]]),
      );
      const rows = Array.from({ length: rowsPerSeed }, (_, id) => rowOf(random, id, values));
      const pool = `words${seed}`;
      const places = await kept(client, pool, rows, random);
      for (let n = 0; n < conditionsPerSeed; n++) {
        const condition = conditionOf(random);
        await compare(seed, wordingsOf(condition, places));
        await compare(seed, [
          `from ${pool} | where ${condition} | count()`,
          `from ${pool} | tail 1000000 | where ${condition} | count()`,
        ]);
      }
      // What is text beside numbers is read as one of them in a join.
      for (const name of names.filter((one) => one !== 'mixed' && one !== 'several'))
        await compare(seed, [
          `select id, count(*) over (partition by ${name}) as c from ${pool}`,
          `select x.id as id, g.c as c from ${pool} x join (select ${name} as k, count(*) as c from ${pool} group by ${name}) g on x.${name} is not distinct from g.k`,
        ]);
      for (const name of ['i', 's', 'several'])
        await compare(seed, [
          `select x.id as id, y.id as other from ${pool} x join ${pool} y on x.several = y.${name}`,
          `select x.id as id, y.id as other from ${pool} x, ${pool} y where (x.several = y.${name}) is true`,
        ]);
      await client.json('DELETE', `/pool/${pool}`);
      count('pools');
    }
  } finally {
    client.close();
    await service.stop();
  }
};
