/**
 * `npm run demo`: the whole story of a lake with real data over HTTP, on a temporary lake, with what the service really
 * answers. The data are the flights, movies and weather files of the package vega-datasets. DEMO_ENTRY names the
 * program to start (default dist/src/main.js).
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const entry = process.env['DEMO_ENTRY'] ?? join(root, 'dist/src/main.js');
const data = join(root, 'node_modules/vega-datasets/data');
const program = entry.endsWith('.ts') ? ['--import', 'tsx', entry] : [entry];

const folder = mkdtempSync(join(tmpdir(), 'lake-demo-'));
const service = spawn(
  process.execPath,
  [...program, 'serve', '-lake', join(folder, 'lake'), '-l', '127.0.0.1:0', '-log.level', 'error'],
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
const base = await new Promise<string>((resolve, reject) => {
  let text = '';
  service.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    const address = /http:\/\/[\w.:[\]]+/.exec(text);
    if (address) resolve(address[0]);
  });
  service.once('exit', (status) => reject(new Error(`the service ended with status ${status}`)));
});

const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};
const clip = (text: string, lines = 12): string => {
  const all = text.trimEnd().split('\n');
  return [
    ...all.slice(0, lines).map((l) => (l.length > 160 ? `${l.slice(0, 157)}...` : l)),
    ...(all.length > lines ? [`... (${all.length - lines} more lines)`] : []),
  ].join('\n');
};

interface Call {
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly shown?: string;
}
/** One request, printed with its answer. */
const call = async (
  title: string,
  method: string,
  path: string,
  { body, headers = {}, shown }: Call = {},
): Promise<string> => {
  say(`\n## ${title}\n${method} ${path}${shown ?? (typeof body === 'string' ? ` ${body}` : '')}`);
  const response = await fetch(base + path, {
    method,
    headers: { accept: 'application/json', ...headers },
    ...(body !== undefined && { body: body as string }),
  });
  const text = await response.text();
  say(`-> ${response.status}${text ? `\n${clip(text)}` : ''}`);
  if (!response.ok) throw new Error(`${title}: ${response.status} ${text}`);
  return text;
};
const json = { 'content-type': 'application/json' };
const query = (title: string, text: string): Promise<string> =>
  call(title, 'POST', '/query', {
    body: JSON.stringify({ query: text }),
    headers: { ...json, accept: 'application/x-sup' },
  });
const records = (file: string): Uint8Array =>
  Buffer.from(
    (JSON.parse(readFileSync(join(data, file), 'utf8')) as unknown[]).map((r) => `${JSON.stringify(r)}\n`).join(''),
  );
const commitOf = (answer: string): string => (JSON.parse(answer) as { commit: string }).commit;

/** Prints events as they come, from a connection of its own. */
const events: string[] = [];
const watching = new AbortController();
const feed = await fetch(`${base}/events`, { headers: { accept: 'application/json' }, signal: watching.signal });
const watched = (async () => {
  const decoder = new TextDecoder();
  for await (const chunk of feed.body!) events.push(decoder.decode(chunk as Uint8Array, { stream: true }));
})().catch(() => undefined);

try {
  say(`A lake service on ${base}, with an empty lake.`);
  const created = JSON.parse(
    await call('A pool for films, kept in order of their title', 'POST', '/pool', {
      body: JSON.stringify({ name: 'movies', layout: { order: 'asc', keys: [['Title']] } }),
      headers: json,
    }),
  ) as { pool: { id: string } };
  await call('A pool for flights, kept in order of their date', 'POST', '/pool', {
    body: JSON.stringify({ name: 'flights', layout: { order: 'asc', keys: [['date']] } }),
    headers: json,
  });
  await call('A pool for the weather', 'POST', '/pool', {
    body: JSON.stringify({ name: 'weather', layout: { order: 'asc', keys: [['date']] } }),
    headers: json,
  });

  const first = commitOf(
    await call('3,201 films as JSON: nulls, and titles that are numbers', 'POST', '/pool/movies/branch/main', {
      body: records('movies.json'),
      shown: ' < movies.json',
      headers: { ...json, 'superdb-commit': JSON.stringify({ author: 'demo', body: 'all films' }) },
    }),
  );
  await call('20,000 flights as JSON', 'POST', '/pool/flights/branch/main', {
    body: records('flights-20k.json'),
    shown: ' < flights-20k.json',
    headers: json,
  });
  await call('Weather as CSV, format detected', 'POST', '/pool/weather/branch/main', {
    body: readFileSync(join(data, 'weather.csv')),
    shown: ' < weather.csv',
  });

  await query(
    'Films by genre',
    'from movies | count() by genre:=this["Major Genre"] | sort count desc, genre | head 5',
  );
  await query(
    'The same in SQL',
    'select "MPAA Rating" as rating, count(*) as films, avg("IMDB Rating") as score from movies group by "MPAA Rating" having count(*) > 100 order by films desc',
  );
  await query('Titles are not all strings', 'from movies | count() by type:=typeof(Title) | sort type');
  await query(
    'Busiest connections',
    'from flights | count(), avg(delay) by origin, destination | sort count desc, origin | head 3',
  );
  await query(
    'Rainy days in Seattle',
    "from weather | location=='Seattle' and precipitation > 30 | cut date, precipitation, weather | sort precipitation desc | head 3",
  );

  const tip = (JSON.parse(await call('The tip of main', 'GET', '/pool/movies/branch/main')) as { commit: string })
    .commit;
  await call('A branch to try things', 'POST', '/pool/movies', {
    body: JSON.stringify({ name: 'trial', commit: tip }),
    headers: json,
  });
  await call('A film that only the branch has', 'POST', '/pool/movies/branch/trial', {
    body: '{"Title":"A Lake","Major Genre":"Documentary","IMDB Rating":10}',
    headers: json,
  });
  await query('main does not know it', 'from movies | Title=="A Lake" | count()');
  await query('trial does', 'from movies@trial | Title=="A Lake"');
  await call('Merge trial into main', 'POST', `/pool/${created.pool.id}/branch/main/merge/trial`);
  await query('Now main knows it too', 'from movies | Title=="A Lake" | cut Title');

  const deletion = commitOf(
    await call('Delete every film without a genre', 'POST', `/pool/${created.pool.id}/branch/main/delete`, {
      body: JSON.stringify({ where: 'this["Major Genre"] is null' }),
      headers: json,
    }),
  );
  await query('After the delete', 'from movies | count()');
  await query('Before it: time travel to the first commit', `from movies@${first} | count()`);
  await call('Revert the delete', 'POST', `/pool/${created.pool.id}/branch/main/revert/${deletion}`);
  await query('All are back', 'from movies | count()');
  await query('The log of main', 'from movies:log | has(message) | cut author, message:=split(message, "\\n")[0]');
  await call('What could be vacuumed', 'POST', '/pool/movies/revision/main/vacuum?dryrun=T');
  await call('Vacuum', 'POST', '/pool/movies/revision/main/vacuum');
  await query('main is as it was', 'from movies | count()');

  await new Promise((resolve) => setTimeout(resolve, 200));
  say(`\n## The events as they came\n${events.join('').trim()}`);
} finally {
  watching.abort();
  await watched;
  service.kill('SIGTERM');
  await new Promise((resolve) => (service.exitCode === null ? service.once('exit', resolve) : resolve(undefined)));
  rmSync(folder, { recursive: true, force: true });
}
