/**
 * Makes a small lake with a given build of the service, and asks it what is in it: `node make.mjs PROGRAM NAME` writes
 * NAME.tar.gz (the lake) and NAME.json (queries with their answers) beside this file. PROGRAM is `dist/src/main.js` of
 * the commit whose lake is to be kept; test/upgrade.test.ts opens each lake that is kept with the service of today.
 */
import { spawn, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [program, name] = process.argv.slice(2);
const here = fileURLToPath(new URL('.', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'lake-upgrade-'));
const child = spawn(
  process.execPath,
  [program, 'serve', '-lake', join(folder, 'lake'), '-l', '127.0.0.1:0', '-log.level', 'error'],
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
const ended = once(child, 'exit');
let printed = '';
child.stdout.on('data', (chunk) => {
  printed += chunk;
});
while (!/http:\S+/.test(printed)) await once(child.stdout, 'data');
const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(printed);

const send = async (method, path, body, headers = {}) => {
  const response = await fetch(address + path, {
    method,
    headers: { accept: 'application/json', ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
};
const pool = (of, layout) => send('POST', '/pool', { name: of, layout }, { 'content-type': 'application/json' });
const load = async (of, body, { branch = 'main', note } = {}) =>
  (
    await send('POST', `/pool/${of}/branch/${branch}`, body, {
      'content-type': 'application/x-sup',
      ...(note && { 'superdb-commit': JSON.stringify(note) }),
    })
  ).commit;
const where = async (of, text, branch = 'main') =>
  (await send('POST', `/pool/${of}/branch/${branch}/delete`, { where: text }, { 'content-type': 'application/json' }))
    .commit;
const tip = async (of, branch = 'main') => (await send('GET', `/pool/${of}/branch/${branch}`)).commit;
const query = async (text) => {
  const response = await fetch(`${address}/query`, {
    method: 'POST',
    headers: { accept: 'application/x-sup', 'content-type': 'application/json' },
    body: JSON.stringify({ query: text }),
  });
  const answer = await response.text();
  if (!response.ok) throw new Error(`${text}: ${answer}`);
  return answer;
};

const asc = (...keys) => ({ order: 'asc', keys: keys.map((key) => [key]) });
// Values of every type, some of them of several at one place.
await pool('types', asc('k'));
await load(
  'types',
  `{k:1,i8:-1::int8,i16:2::int16,i32:3::int32,i64:-9223372036854775808,u8:255::uint8,u16:1::uint16,u32:2::uint32,u64:18446744073709551615::uint64,f16:0.5::float16,f32:1.5::float32,f64:-1e300,inf:+Inf,nan:NaN,b:true,s:"\u00e4 \u4e2d \\n",n:null}
{k:2,t:2024-01-02T03:04:05.123456789Z,d:-1d2h3.5s,by:0x00ff,ip4:10.1.2.3,ip6:fe80::1,net:10.0.0.0/8,ty:<{a:int64,b:[string]}>,en:"red"::enum(blue,red),port:80::(port=uint16)}
{k:3,a:[1,"x",null],ra:[[1,2],[3]],se:|["b","a"]|,m:|{"k":[1]}|,r:{x:{y:1},e:{}},err:error({message:"bad",on:1}),un:1::(int64|string),opt:{a?:1,b?:_::int64}}
{k:"four",mixed:1}
{mixed:"no key"}
5
"a text"
null
{k:6.5,mixed:null}`,
);
// Enough rows for objects in files of their own, in more than one block, with repeated and growing columns.
await pool('rows', asc('ts'));
const at = (i) => new Date(Date.UTC(2024, 0, 1) + i * 1000).toISOString();
await load(
  'rows',
  Array.from(
    { length: 12_000 },
    (_, i) =>
      `{"ts":"${at(i)}","i":${i},"kind":"${['get', 'put', 'delete'][i % 3]}","user":"user ${(i * 7919) % 500}","size":${(i * i) % 1_000_003},"ok":${i % 7 !== 0}}`,
  ).join('\n'),
);
await load(
  'rows',
  Array.from(
    { length: 6000 },
    (_, i) => `{"ts":"${at(i * 2)}","i":${i},"ratio":${i / 7},"tags":["a${i % 5}","b"],"at":{"x":${i % 11}}}`,
  ).join('\n'),
);
await pool('falling', { order: 'desc', keys: [['a'], ['b']] });
await load('falling', Array.from({ length: 300 }, (_, i) => `{a:${i % 10},b:${i}}`).join(' '));
// Branches, merges, deletions, a revert, compaction, a vacuum.
await pool('people', asc('id'));
const people = (from, to, more = '') =>
  Array.from({ length: to - from }, (_, i) => `{id:${from + i},name:"person ${from + i}"${more}}`).join('\n');
const first = await load('people', people(0, 50), {
  note: { author: 'ann', body: 'first people', meta: '{source:"list"}' },
});
await send('POST', '/pool/people', { name: 'trial', commit: first }, { 'content-type': 'application/json' });
await load('people', people(50, 80, ',new:true'), { branch: 'trial', note: { author: 'bob', body: 'more' } });
await where('people', 'id < 5', 'trial');
await load('people', people(100, 120));
await send('POST', '/pool/people/branch/main/merge/trial');
await load('people', people(80, 90), { branch: 'trial' });
await send('POST', '/pool/people/branch/main/merge/trial');
const deletion = await where('people', 'id >= 100');
const before = await tip('people');
await send('POST', `/pool/people/branch/main/revert/${deletion}`);
await send(
  'POST',
  '/pool/people',
  { name: 'a "branch"/of ours', commit: before },
  { 'content-type': 'application/json' },
);
await where('people', 'id == 42', encodeURIComponent('a "branch"/of ours'));
await pool('small', asc('k'));
for (let i = 0; i < 120; i++) await load('small', `{k:${i},s:"commit ${i}"}`);
const objects = (await query('from small:objects | head 40 | values id'))
  .trim()
  .split('\n')
  .map((id) => id.replace(/::.*$/, ''));
await send('POST', '/pool/small/branch/main/compact', `{object_ids:[${objects.join(',')}]}`, {
  'content-type': 'application/x-sup',
});
await where('small', 'k % 10 == 3');
await send('POST', '/pool/small/revision/main/vacuum');
await pool('renamed before', asc('k'));
await load('renamed%20before', '{k:1}');
await send('PUT', '/pool/renamed%20before', { name: 'renamed \u00e4fter' }, { 'content-type': 'application/json' });
await pool('gone', asc('k'));
await load('gone', '{k:1}');
await send('DELETE', '/pool/gone');
await pool('empty', asc('k'));

const queries = [
  'from :pools | sort name',
  'from :branches | sort pool.name, branch.name',
  'from types',
  'from types | typeof(this)',
  'from rows | count() by kind, typeof(this) | sort this',
  'from rows | sum(size), avg(ratio), min(ts), max(ts)',
  'from rows | where user=="user 77" | sort i',
  'from rows | where ts > "2024-01-01T03:00:00Z" | head 20',
  'from rows | where i==2999 | sort this',
  'from falling | head 12',
  'from falling | where a==3 | tail 3',
  'from people | sort id',
  'from people@trial | sort id',
  `from people@${first} | count()`,
  `from people@${before} | count()`,
  'from people@"a \\"branch\\"/of ours" | count()',
  'from people:log | has(message)',
  'from people@trial:log | has(message)',
  'from people:branches | sort branch.name',
  'from small | sort k',
  'from small:log | count()',
  'from rows:objects | sort min',
  'from "renamed \u00e4fter"',
  'from empty | count()',
];
const answers = [];
for (const text of queries)
  answers.push({ query: text, answer: await query(text).catch((problem) => `error: ${problem.message}`) });
const events = await await fetch(`${address}/events`, {
  headers: { accept: 'application/json', 'last-event-id': '1' },
  signal: AbortSignal.timeout(300),
}).then(async (response) => {
  let text = '';
  try {
    for await (const chunk of response.body) text += Buffer.from(chunk).toString();
  } catch {
    /* it does not end by itself */
  }
  return text;
});
child.kill('SIGTERM');
await ended;
execFileSync('tar', ['-I', 'gzip -9n', '-cf', join(here, `${name}.tar.gz`), '-C', folder, '--exclude=spill', 'lake']);
writeFileSync(
  join(here, `${name}.json`),
  `${JSON.stringify({ first, deletion, before, events, answers: answers.filter(({ answer }) => !answer.startsWith('error: ')) }, undefined, 1)}\n`,
);
console.log(`${name}: ${statSync(join(here, `${name}.tar.gz`)).size} bytes, ${answers.length} queries`);
for (const { query: text, answer } of answers) if (answer.startsWith('error: ')) console.log(text, answer);
rmSync(folder, { recursive: true });
