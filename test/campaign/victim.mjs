/**
 * A process that does a script of steps on a lake and may be ended, starved of disk or traced while it does: `node victim.mjs DIRECTORY SCRIPT [states]`.
 * Prints a line at each beginning (`begin I`), each acknowledgement (`ack I` or `ack I.J`) or refusal (`refused I CODE TEXT`), and with `states` what the lake
 * holds after each step (`state I JSON`). The program is the built one beside LAKE_PROGRAM.
 */
import { createHash } from 'node:crypto';
import { writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const program = process.env.LAKE_PROGRAM ?? fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));
const part = (path) => import(pathToFileURL(join(dirname(program), path)).href);
const [{ openLake }, { openObjects }, { sortKeyBytes }, { intValue }, { killCounts }] = await Promise.all(
  ['lake/lake.js', 'lake/objects.js', 'vectors/sort-key.js', 'vectors/value.js', 'lake/kill-points.js'].map(part));

const [directory, scriptText, mode] = process.argv.slice(2);
const script = JSON.parse(scriptText), say = (text) => { writeSync(1, `${text}\n`); };
// What the processes before this one acknowledged is not known here: a script goes on where it is told.
const objects = openObjects(directory);
const open = () => openLake({ directory, objects, report: (fault) => { say(`fault ${fault instanceof Error ? fault.message : String(fault)}`); } });
let lake = await open();
say('ready');

/** Bodies follow from the key: small ones live in the tables, large ones in files. */
const bodyOf = (n, bytes) => Buffer.from(`${n}:`.repeat(1 + Math.ceil(bytes / (String(n).length + 1)))).subarray(0, bytes);
/** Known in advance: what goes wrong with an object's file is arranged by its path. */
const idOf = (n) => createHash('sha1').update(String(n)).digest('hex');
const bound = (n) => ({ text: String(n), sort: sortKeyBytes(intValue(n)) });
const objectOf = async (n, large) => {
  const body = bodyOf(n, large ? 70_000 : 40), meta = { id: idOf(n), count: 1, size: body.length, min: bound(n), max: bound(n) };
  if (!large) return { ...meta, inline: body };
  await objects.put(meta.id, body);
  return meta;
};
const tipObjects = async (pool, branch) => {
  const snapshot = await lake.openSnapshot(pool, branch);
  try {
    return snapshot.page({ limit: 100_000 }).objects;
  } finally {
    snapshot.release();
  }
};
const idsOf = async (pool, branch, keys) => (await tipObjects(pool, branch)).filter((o) => keys.includes(Number(o.min.text))).map((o) => o.id);

const commits = [];
const steps = {
  'create pool': ({ pool }) => lake.createPool({ name: pool, keys: [['k']] }),
  'rename pool': ({ pool, to }) => lake.renamePool(pool, to),
  'delete pool': ({ pool }) => lake.deletePool(pool),
  load: async ({ pool, branch, key, large }) => lake.pool(pool).load(branch, [await objectOf(key, large)]),
  group: async ({ pool, branch, keys }, i) => {
    const made = await Promise.all(keys.map((key, j) => objectOf(key, j % 4 === 3)));
    const ends = await Promise.allSettled(made.map(async (object, j) => {
      await lake.pool(pool).load(branch, [object]);
      say(`ack ${i}.${j}`);
    }));
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed) throw failed.reason;
  },
  delete: async ({ pool, branch, keys }) => lake.pool(pool).deleteObjects(branch, await idsOf(pool, branch, keys)),
  compact: async ({ pool, branch, keys, to, large }) => {
    const ids = await idsOf(pool, branch, keys);
    return lake.pool(pool).compact(branch, ids, async () => ({ removes: ids, adds: [await objectOf(to, large)] }));
  },
  'delete where': async ({ pool, branch, keys, to }) => {
    const ids = await idsOf(pool, branch, keys);
    return lake.pool(pool).deleteWhere(branch, async () => ({ removes: ids, adds: [await objectOf(to, true)] }));
  },
  'create branch': ({ pool, branch, name }) => lake.pool(pool).createBranch(name, lake.pool(pool).branch(branch).commit),
  'delete branch': ({ pool, name }) => lake.pool(pool).deleteBranch(name),
  merge: ({ pool, target, child }) => lake.pool(pool).merge(target, child),
  revert: ({ pool, branch, step }) => lake.pool(pool).revert(branch, commits[step]),
  vacuum: ({ pool, branch }) => lake.pool(pool).vacuum(branch, { dryRun: false }),
  orphan: ({ key }) => objectOf(key, true),
  restart: async () => {
    await lake.close();
    lake = await open();
  },
};

const state = async () => {
  const found = {};
  for (const { name } of lake.pools()) {
    found[name] = {};
    for (const branch of lake.pool(name).branches()) found[name][branch.name] = (await tipObjects(name, branch.name)).map((o) => Number(o.min.text)).sort((a, b) => a - b);
  }
  return found;
};

for (const [i, step] of script.entries()) {
  say(`begin ${i}`);
  try {
    const done = await steps[step.do](step, i);
    commits[i] = done?.commit;
    say(`ack ${i}`);
  } catch (error) {
    say(`refused ${i} ${error.code ?? ''} ${error.message}`);
  }
  if (mode === 'states') say(`state ${i} ${JSON.stringify(await state())}`);
}
if (mode === 'read') say(`state end ${JSON.stringify(await state())} ${JSON.stringify(lake.status())}`);
await lake.close();
say('closed');
if (mode === 'states') say(`points ${JSON.stringify([...killCounts])}`);
