/** What a service does for its tables while something goes wrong, and whether they are right at the start after it. */
import { type Service, startBuiltService } from '../../support/service/built.ts';
import { faultOfTable } from '../../support/iceberg/http.ts';

const json = { 'content-type': 'application/json', accept: 'application/json' };
export const post = (address: string, path: string, body: string): Promise<Response> =>
  fetch(address + path, { method: 'POST', headers: json, body });

/** `by`: what starts it. */
export const serveTables = (lake: string, by?: readonly string[], flags: readonly string[] = []): Promise<Service> =>
  startBuiltService({ lake, flags: ['-workers', '1', '-iceberg.wait', '60s', ...flags], ...(by && { by }) });

/** A field of several kinds. */
export const mixed = (i: number): string => `"m":${i % 2 === 0 ? i : '{"of":"it"}'}`;

/** The tables of the course: each mapping has one. */
export const courseTables = { typed: 'p', variant: 'v' } as const;
/** Enough for a merged file. */
const smallCommits = 33;

/** Loads, small commits that are merged, a delete: after each the tables are asked for. `asked` hears of each answer. */
export const runCourse = async (address: string, asked: (answer: Response) => Promise<void>): Promise<void> => {
  const send = async (path: string, body: string): Promise<void> => asked(await post(address, path, body));
  const ask = async (pool: string): Promise<void> =>
    asked(await fetch(`${address}/iceberg/v1/lake/namespaces/lake/tables/${pool}`));
  for (const [mapping, pool] of Object.entries(courseTables)) {
    await send('/pool', JSON.stringify({ name: pool, iceberg: 'lazy', iceberg_mapping: mapping }));
    await send(`/pool/${pool}/branch/main`, '{"ts":0,"m":[1]} {"ts":0,"m":"text"}');
    await ask(pool);
    for (let i = 1; i <= smallCommits; i++)
      await send(`/pool/${pool}/branch/main`, `{"ts":${i},"s${i % 3}":"x",${mixed(i)}}`);
    // Merged files come after who asks first.
    for (let i = 0; i < 3; i++) await ask(pool);
    await send(`/pool/${pool}/branch/main/delete`, '{"where":"ts == 5"}');
    await ask(pool);
  }
};

/** What is wrong with tables of a lake, before and after another commit; their files are made again where they were lost. */
export const faultAtStart = async (lake: string, pools: readonly string[]): Promise<string | undefined> => {
  const service = await serveTables(lake);
  try {
    for (const pool of pools) {
      const found = await faultOfTable(service.address, pool);
      if (found !== undefined) return `${pool}: ${found}`;
      await post(service.address, `/pool/${pool}/branch/main`, '{"ts":1000,"later":true}');
      const later = await faultOfTable(service.address, pool);
      if (later !== undefined) return `${pool} after a commit: ${later}`;
    }
    return undefined;
  } finally {
    await service.end();
  }
};
