/**
 * A process that does a script of steps on a lake and may be ended, starved of disk or traced while it does: `node
 * victim.mjs DIRECTORY SCRIPT [states]`. Prints a line at each beginning (`begin I`), each acknowledgement (`ack I` or
 * `ack I.J`) or refusal (`refused I CODE TEXT`), and with `states` what the lake holds after each step (`state I
 * JSON`). The program is the built one beside LAKE_PROGRAM.
 *
 * `node victim.mjs serve` does one script after the other: a line of JSON each on its input, `{directory, script, mode,
 * faults}`. `faults`: what fault-shim.c is told before; what it counted is said after the script, then `end STATUS
 * COMPLAINT`. `store`: the lake is in a bucket, options of which are in it; a step that the store's faults end is not
 * refused, it is the last one (`stopped I CODE TEXT`).
 */
import { createHash } from 'node:crypto';
import { openSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';

const program = process.env.LAKE_PROGRAM ?? fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));
const part = (path) => import(pathToFileURL(join(dirname(program), path)).href);
const [{ openLake }, { openObjects }, { sortKeyBytes }, { intValue }, { killCounts }] = await Promise.all(
  ['lake/lake.js', 'lake/objects/objects.js', 'vectors/sort-key.js', 'vectors/value.js', 'lake/kill-points.js'].map(
    part,
  ),
);

/** Bodies follow from the key: small ones live in the tables, large ones in files. */
const bodyOf = (n, bytes) =>
  Buffer.from(`${n}:`.repeat(1 + Math.ceil(bytes / (String(n).length + 1)))).subarray(0, bytes);
/** Known in advance: what goes wrong with an object's file is arranged by its path. */
const idOf = (n) => createHash('sha1').update(String(n)).digest('hex');
const bound = (n) => ({ text: String(n), sort: sortKeyBytes(intValue(n)) });

/**
 * Of every second script: LMDB gets what it has after some commits, segments are short, and bases are written all the
 * time. The others hardly meet LMDB but at their ends.
 */
const shortLog = { applyBytes: 1024, segmentBytes: 16_384, baseBytesMin: 1 };

class Run {
  directory;
  script;
  mode;
  store;
  lake;
  objects;
  bucket;
  copied;
  commits = [];
  isOver = false;

  constructor({ directory, script, mode, store }) {
    Object.assign(this, { directory, script, mode, store });
  }

  say(text) {
    if (!this.isOver) writeSync(1, `${text}\n`);
  }
  async open() {
    this.lake = await openLake({
      directory: this.directory,
      objects: this.objects,
      ...(this.store && { store: this.copy() }),
      ...(this.script.length % 2 === 0 ? {} : shortLog),
      report: (fault) => {
        this.say(`fault ${fault instanceof Error ? fault.message : String(fault)}`);
      },
    });
  }

  openFiles() {
    this.objects = this.store.parts.openLakeObjects(this.directory, this.store.address, 'main');
  }
  copy() {
    const { openBucket, openLakeStore } = this.store.parts;
    this.bucket = openBucket(this.store.address);
    this.copied = openLakeStore({
      bucket: this.bucket,
      ack: 'bucket',
      address: 'victim',
      graceMs: 0,
      cache: { bytesMax: 0, lookMs: 3_600_000 },
      baseBytesMin: 60_000,
      closeMsMax: 300,
      leaseMs: 3_600_000,
      takesOver: true,
      noted: () => undefined,
    });
    return this.copied;
  }
  /** Commits wait for a store that is away, for as long as it takes; this one is closed then. */
  async stopped() {
    let timer;
    const away = new Promise((resolve) => {
      timer = setInterval(() => {
        const { fault } = this.copied.figures();
        if (fault !== undefined) resolve(fault);
      }, 20);
    });
    return { away, end: () => clearInterval(timer) };
  }

  async all() {
    // What the processes before this one acknowledged is not known here: a script goes on where it is told.
    if (this.store) {
      const [{ openLakeObjects }, { openBucket }, { openLakeStore }] = await Promise.all(
        ['lake/objects/fetched.js', 'store/s3.js', 'lake/store/copy.js'].map(part),
      );
      this.store.parts = { openBucket, openLakeStore, openLakeObjects };
      this.openFiles();
    } else this.objects = openObjects(this.directory);
    await this.open();
    this.say('ready');
    for (const [i, step] of this.script.entries()) {
      this.say(`begin ${i}`);
      try {
        const done = await this.done(steps[step.do](this, step, i));
        this.commits[i] = done?.commit;
        this.say(`ack ${i}`);
      } catch (error) {
        if (/^store-|^object-missing$/.test(error.code ?? '')) {
          this.say(`stopped ${i} ${error.code} ${error.message}`);
          break;
        }
        this.say(`refused ${i} ${error.code ?? ''} ${error.message}`);
      }
      if (this.mode === 'states') this.say(`state ${i} ${JSON.stringify(await this.state())}`);
    }
    if (this.mode === 'read')
      this.say(`state end ${JSON.stringify(await this.state())} ${JSON.stringify(this.lake.status())}`);
    await this.lake.close();
    this.say('closed');
    if (this.mode === 'states') this.say(`points ${JSON.stringify([...killCounts])}`);
  }
  /** Of a step with a store that goes away the end is that of the service. */
  async done(step) {
    if (!this.store) return step;
    step.catch(() => undefined);
    const { away, end } = await this.stopped();
    const what = await Promise.race([
      step.then(
        () => 'done',
        () => 'done',
      ),
      away.then(() => 'away'),
    ]);
    end();
    if (what === 'away') {
      // A fault may pass: it has as long as a try takes.
      const late = new Promise((resolve) => setTimeout(resolve, this.store.awayMs, 'late'));
      if (
        (await Promise.race([
          step.then(
            () => 'done',
            () => 'done',
          ),
          late,
        ])) === 'late'
      )
        await this.lake.close();
    }
    return step;
  }
  /** What the lake does in the background after this is nobody's. */
  async over() {
    this.isOver = true;
    await this.lake?.close().catch(() => undefined);
    this.objects?.close();
  }

  async objectOf(n, large) {
    const body = bodyOf(n, large ? 70_000 : 40);
    const meta = { id: idOf(n), count: 1, size: body.length, min: bound(n), max: bound(n) };
    if (!large) return { ...meta, inline: body };
    await this.objects.put(meta.id, body);
    return meta;
  }
  async tipObjects(pool, branch) {
    const snapshot = await this.lake.openSnapshot(pool, branch);
    try {
      return snapshot.page({ limit: 100_000 }).objects;
    } finally {
      snapshot.release();
    }
  }
  async idsOf(pool, branch, keys) {
    return (await this.tipObjects(pool, branch)).filter((o) => keys.includes(Number(o.min.text))).map((o) => o.id);
  }
  async state() {
    const found = {};
    for (const { name } of this.lake.pools()) {
      found[name] = {};
      const pool = this.lake.pool(name);
      for (const [kind, each] of [
        ...pool.branches().map((branch) => ['', branch]),
        ...pool.tags().map((tag) => ['tag ', tag]),
      ])
        found[name][kind + each.name] = (await this.tipObjects(name, each.name))
          .map((o) => Number(o.min.text))
          .sort((a, b) => a - b);
      for (const { name: branch, protection } of pool.branches())
        if (protection) found[name][`protection of ${branch}`] = protectionOf(protection);
    }
    for (const view of this.lake.views()) found[`view ${view.name}`] = versionsOf(this.lake, view);
    return found;
  }
}
const versionsOf = (lake, view) => ({
  newest: [Number(view.query)],
  versions: lake.viewVersions(view.id).map(({ query }) => Number(query)),
});

/** As numbers, as all of a state is. */
const protectionOf = (protection) =>
  ['load', 'delete', 'merge', 'reset'].map((verb) => ['admin', 'nobody'].indexOf(protection[verb]));

/** How a merge, a revert or a pick comes to its objects where objects alone do not decide it. */
const byRecords =
  (run, { pool, branch, keys, to }) =>
  async () => ({
    removes: await run.idsOf(pool, branch, keys),
    adds: [await run.objectOf(to, true)],
    removed: 1,
    added: 1,
    conflicts: 0,
    told: '',
    settled: 0,
    isApart: false,
  });
/** What it refers to was refused. */
const commitOf = (run, step) => {
  if (run.commits[step] === undefined) throw Object.assign(new Error('no such commit'), { code: 'commit-not-found' });
  return run.commits[step];
};

const steps = {
  'create pool': (run, { pool }) => run.lake.createPool({ name: pool, keys: [['k']] }),
  'rename pool': (run, { pool, to }) => run.lake.renamePool(pool, to),
  'delete pool': (run, { pool }) => run.lake.deletePool(pool),
  'create view': (run, { name, key }) =>
    run.lake.changeView({ action: 'create', existing: 'refuse', name, query: String(key) }),
  'replace view': (run, { name, key }) =>
    run.lake.changeView({ action: 'create', existing: 'replace', name, query: String(key) }),
  'rename view': (run, { name, to }) => run.lake.changeView({ action: 'rename', name, to, ifExists: false }),
  'drop view': (run, { name }) => run.lake.changeView({ action: 'drop', name, ifExists: false }),
  load: async (run, { pool, branch, key, large }) => run.lake.pool(pool).load(branch, [await run.objectOf(key, large)]),
  group: async (run, { pool, branch, keys }, i) => {
    const made = await Promise.all(keys.map((key, j) => run.objectOf(key, j % 4 === 3)));
    const ends = await Promise.allSettled(
      made.map(async (object, j) => {
        await run.lake.pool(pool).load(branch, [object]);
        run.say(`ack ${i}.${j}`);
      }),
    );
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed) throw failed.reason;
  },
  delete: async (run, { pool, branch, keys }) =>
    run.lake.pool(pool).deleteObjects(branch, await run.idsOf(pool, branch, keys)),
  compact: async (run, { pool, branch, keys, to, large }) => {
    const ids = await run.idsOf(pool, branch, keys);
    return run.lake
      .pool(pool)
      .compact(branch, ids, async () => ({ removes: ids, adds: [await run.objectOf(to, large)] }));
  },
  'delete where': async (run, { pool, branch, keys, to }) => {
    const ids = await run.idsOf(pool, branch, keys);
    return run.lake
      .pool(pool)
      .deleteWhere(branch, async () => ({ removes: ids, adds: [await run.objectOf(to, true)] }));
  },
  update: async (run, { pool, branch, keys, to }) => {
    const ids = await run.idsOf(pool, branch, keys);
    return run.lake.pool(pool).update(branch, async () => ({ removes: ids, adds: [await run.objectOf(to, true)] }));
  },
  upsert: async (run, { pool, branch, keys, to }) => {
    const ids = await run.idsOf(pool, branch, keys);
    return run.lake.pool(pool).upsert(branch, [await run.objectOf(to, true)], async () => ({ removes: ids, adds: [] }));
  },
  transaction: async (run, { pool, other, keys, to, large }) => {
    const ids = await run.idsOf(pool, 'main', keys);
    const [one, two] = [await run.objectOf(to, large), await run.objectOf(to + 1, !large)];
    const { transaction } = await run.lake.transact([
      { pool: other, branch: 'main', note: {}, what: 'load', objects: [two] },
      {
        pool,
        branch: 'main',
        note: {},
        what: 'rewrite',
        cause: 'delete where',
        brings: [one],
        prepare: async () => ({ removes: ids, adds: [] }),
      },
    ]);
    return { commit: transaction };
  },
  'create branch': (run, { pool, branch, name }) =>
    run.lake.pool(pool).createBranch(name, run.lake.pool(pool).branch(branch).commit),
  'delete branch': (run, { pool, name }) => run.lake.pool(pool).deleteBranch(name),
  reset: (run, { pool, branch, tag, astray }) =>
    run.lake.pool(pool).reset(branch, run.lake.pool(pool).tag(tag).commit, astray ? { ifTip: [idOf('astray')] } : {}),
  'create tag': (run, { pool, branch, name }) =>
    run.lake.pool(pool).createTag(name, run.lake.pool(pool).branch(branch).commit),
  'delete tag': (run, { pool, name }) => run.lake.pool(pool).deleteTag(name),
  merge: (run, { pool, target, child }) => run.lake.pool(pool).merge(target, child),
  'merge by records': (run, step) => {
    const { pool, branch, child } = step;
    return run.lake.pool(pool).combine({ kind: 'merge', target: branch, child }, {}, byRecords(run, step));
  },
  revert: async (run, { pool, branch, step }) => run.lake.pool(pool).revert(branch, commitOf(run, step)),
  'revert by records': async (run, step) => {
    const { pool, branch } = step;
    const combination = { kind: 'revert', branch, commit: commitOf(run, step.step) };
    return run.lake.pool(pool).combine(combination, {}, byRecords(run, step));
  },
  pick: async (run, { pool, branch, step }) => {
    const own = run.lake.pool(pool);
    return own.combine({ kind: 'pick', branch, ...own.picked(`0x${commitOf(run, step)}`) });
  },
  'pick by records': async (run, step) => {
    const { pool, branch } = step;
    const own = run.lake.pool(pool);
    const picked = own.picked(`0x${commitOf(run, step.step)}`);
    return own.combine({ kind: 'pick', branch, ...picked }, {}, byRecords(run, step));
  },
  protect: (run, { pool, branch, who }) => {
    const protection = who === '' ? {} : { load: who, merge: who, reset: 'nobody' };
    return run.lake.pool(pool).protect(branch, protection);
  },
  vacuum: (run, { pool, branch }) => run.lake.pool(pool).vacuum(branch, { dryRun: false }),
  orphan: (run, { key }) => run.objectOf(key, true),
  restart: async (run) => {
    await run.lake.close();
    await run.open();
  },
  /** Goes on from what the bucket has, in an empty folder. */
  move: async (run) => {
    await run.lake.close();
    for (const name of ['log', 'base', 'tables', 'objects', 'ranges', 'store.json'])
      rmSync(join(run.directory, name), { recursive: true, force: true });
    run.objects.close();
    run.openFiles();
    await run.open();
  },
  /** Each object is read, of all branches; a body that is another one is told. */
  read: async (run) => {
    for (const { name } of run.lake.pools())
      for (const branch of run.lake.pool(name).branches())
        for (const { id, size, inline, min } of await run.tipObjects(name, branch.name)) {
          if (inline) continue;
          const bytes = await run.objects.readRange(id, 0, size);
          if (!bodyOf(Number(min.text), size).equals(bytes)) run.say(`wrong bytes of ${id}`);
        }
  },
};

const tellFaults = (text) => {
  try {
    openSync(`/.lake-faults ${text}`);
  } catch {
    // It never opens.
  }
};

const [first, scriptText, mode] = process.argv.slice(2);
if (first !== 'serve') await new Run({ directory: first, script: JSON.parse(scriptText), mode }).all();
else {
  for await (const line of createInterface({ input: process.stdin })) {
    const { faults, ...wanted } = JSON.parse(line);
    const run = new Run(wanted);
    let end = '0';
    if (faults) tellFaults(`${faults} ${run.directory}`);
    try {
      await run.all();
    } catch (error) {
      end = `1 ${String(error?.code ?? '')} ${String(error?.message ?? error).replaceAll('\n', ' ')}`;
    }
    if (faults) tellFaults('report');
    await run.over();
    writeSync(1, `end ${end}\n`);
  }
}
