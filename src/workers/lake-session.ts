/**
 * What one task sees of the lake, on the main thread: it answers the worker's calls and keeps the snapshots that the
 * task reads pinned until it ends.
 *
 * Invariants:
 * - Within a session a branch of a pool is one commit, however often and under whatever name it is asked for.
 * - `release` unpins everything; a snapshot that is opened later is unpinned at once.
 */
import { RE2JS } from 're2js';
import { LakeError } from '../errors.ts';
import type {
  Diff,
  Id,
  MetaPage,
  MetaSource,
  PoolConfig,
  PrepareRewrite,
  RecordSides,
  Snapshot,
  ViewVersion,
} from '../lake/lake.types.ts';
import { inlineBytesMax } from '../lake/objects/format.ts';
import { SourceFault } from '../query/parse/error.ts';
import type { FoundSource, ResolvedSource, SourceRequest } from '../query/plan/plan.ts';
import { didYouMean, didYouMeanName } from '../query/analyze/suggest.ts';
import { expandGlob, findFile, looksLikePath } from './from/files.ts';
import { type FromPolicy, allowedUrl } from './from/policy.ts';
import { atHead, namesIn } from './prefetch.ts';
import type { RenderRequest } from '../iceberg/render.types.ts';
import type { Call, Prefetched, PoolLayout, StatementText } from './messages.ts';
import { type PackedPage, packPage } from './packed-page.ts';
import type { LakeServices } from './pool.types.ts';

/** So many rows of metadata are sent at a time. */
const metaRowsMax = 1000;
/** Objects that are told before they are asked for, at most; and if their bodies come along. */
const prefetchedObjectsMax = 128;
const prefetchedInlineMax = 8;
/** Objects whose rows are counted in one turn of the event loop. */
const countedObjects = 4096;

interface Opened {
  readonly snapshot: Snapshot;
  readonly branch: string;
  readonly poolId: string;
}

/** Either spelling of an id, or a time. */
const otherShape = /^(?:0x[0-9a-f]{40}|[0-9a-z]{27}|\d{4}-\d\d-\d\dt.*)$/i;
/** Errors of names: compile errors at the name's place in the text. */
const nameFaults: ReadonlySet<string> = new Set([
  'pool-not-found',
  'branch-not-found',
  'diff-no-fork',
  'tag-fixed',
  'asof-malformed',
  'asof-absent',
  'meta-unknown',
  'meta-unknown-lake',
]);

/** The lake as one task sees it; `release` ends it. */
export class LakeSession {
  private readonly lake: LakeServices;
  private readonly opened: Opened[] = [];
  private readonly diffs: Diff[] = [];
  private readonly known = new Map<string, Promise<number>>();
  private readonly knownViews = new Map<string, ViewVersion>();
  private released = false;
  /** Since the first branch was looked up. */
  private cut: ReturnType<NonNullable<LakeServices['cut']>> | undefined;
  /** Of pages of metadata: what its worker has not been sent. */
  private readonly metaRest = new Map<string, MetaPage>();
  private metaParts = 0;
  /** It reads more than pools: files, URLs, what is told of the lake. */
  private readsMore = false;
  private readonly from: FromPolicy;
  private readonly readOnly: boolean;
  /** Finds the pool that a shipper names. */
  target: ((pool: string) => Promise<PoolConfig>) | undefined;
  /** The identity of the pool that a shipper names. */
  identity: ((pool: string) => string | null | undefined) | undefined;
  /** What a statement makes of a pool's rows. */
  prepareStatement: ((statement: StatementText) => PrepareRewrite) | undefined;
  /** Of the table that its files are for. */
  private register: RenderRequest['register'] | undefined;
  /** `readOnly`: what would change the lake is refused when it is compiled. */
  constructor(lake: LakeServices, from: FromPolicy, readOnly = false) {
    this.lake = lake;
    this.from = from;
    this.readOnly = readOnly;
  }

  /** The commits and versions of views that it has opened; undefined when it reads what has neither. */
  reads(): readonly string[] | undefined {
    if (this.readsMore) return undefined;
    return [
      ...this.opened.map(({ poolId, snapshot }) => `${poolId}@${snapshot.commit}`),
      ...this.diffs.map(
        ({ pool, base, commit }) => `${pool.id}@${base}..${commit} ${JSON.stringify(pool.identity ?? [])}`,
      ),
      ...[...this.knownViews.values()].map(({ id, version }) => `${id}@${version}`),
    ];
  }

  /** Takes over a snapshot that others release. */
  lend(snapshot: Snapshot): void {
    this.opened.push({
      snapshot: lentOf(snapshot),
      branch: '',
      poolId: snapshot.pool.id,
    });
  }

  /** Takes over the sides of a merge that others release. */
  lendSides({ ours, theirs, target }: RecordSides): void {
    this.lend(target);
    for (const diff of [ours, theirs]) this.diffs.push({ ...diff, release: () => undefined });
  }

  /** It makes files for a table, whose columns these are. */
  renderFor(register: RenderRequest['register']): void {
    this.register = register;
  }

  /** A page is sent to a worker in parts; what is not sent yet is kept under the name that asks for it. */
  private async metaPage(source: MetaSource, next: string | undefined): Promise<MetaPage> {
    const kept = next === undefined ? undefined : this.metaRest.get(next);
    if (kept) this.metaRest.delete(next!);
    const page = kept ?? (await this.lake.metaPage(source, next));
    if (page.rows.length <= metaRowsMax) return page;
    const name = `rest ${++this.metaParts}`;
    this.metaRest.set(name, { ...page, rows: page.rows.slice(metaRowsMax) });
    return { rows: page.rows.slice(0, metaRowsMax), next: name };
  }

  async answer(call: Exclude<Call, { kind: 'helper' }>): Promise<unknown> {
    switch (call.kind) {
      case 'resolve':
        return this.resolve(call.source);
      case 'page':
        return packPage(this.at(call.handle).snapshot.page(call.page));
      case 'diff':
        return packPage(this.diffAt(call.diff).page(call.side, call.page));
      case 'meta':
        return this.metaPage(call.source, call.next);
      case 'layout':
        return layoutOf(this.at(call.handle).snapshot.pool);
      case 'target': {
        if (!this.target) throw new LakeError('internal', { text: 'no pool can be named here' });
        return layoutOf(await this.target(call.pool));
      }
      case 'identity':
        return this.identity ? this.identity(call.pool) : null;
      case 'view':
        if (this.readOnly) throw new LakeError('query-writes', { what: `${call.change.action} view` });
        return this.lake.changeView(call.change);
      case 'change':
        return this.changeRows(call);
      case 'columns':
        if (!this.register) throw new LakeError('internal', { text: 'no table' });
        return this.register(call.wanted);
      case 'commit': {
        const { poolId, branch } = this.at(call.handle);
        return (await this.lake.pool(`0x${poolId}`).load(branch, call.objects, call.note)).commit;
      }
    }
  }

  /** The commit of a statement; none if it selects no row. */
  private async changeRows({
    handle,
    verb,
    text,
    indexBase,
  }: Extract<Call, { kind: 'change' }>): Promise<Id | undefined> {
    if (!this.prepareStatement) throw new LakeError('internal', { text: 'nothing is changed here' });
    const { poolId, branch } = this.at(handle);
    const pool = this.lake.pool(`0x${poolId}`);
    const prepare = this.prepareStatement({ text, ...(indexBase !== undefined && { indexBase }) });
    try {
      if (verb === 'merge into') return (await pool.upsert(branch, [], prepare)).commit;
      return (await (verb === 'update' ? pool.update(branch, prepare) : pool.deleteWhere(branch, prepare))).commit;
    } catch (error) {
      if (error instanceof LakeError && error.code === 'transaction-empty') return undefined;
      throw error;
    }
  }

  /**
   * What the worker is going to ask for, as far as the text tells: so it need not wait for the answers. Faults are left
   * to when it asks.
   */
  async prefetch(
    text: string,
    head: { readonly pool?: string; readonly branch?: string } | undefined,
  ): Promise<readonly Prefetched[]> {
    const wanted = [
      ...(head?.pool !== undefined ? [{ name: head.pool }] : []),
      ...namesIn(text).map((name) => ({ name })),
    ].map((request) => atHead(request, head));
    const found: Prefetched[] = [];
    for (const request of wanted) {
      if (this.poolNamed(request.name) instanceof LakeError) continue;
      const source = await this.named({ kind: 'name', ...request }).catch(() => undefined);
      if (source?.kind !== 'pool') continue;
      const handle = Number(source.handle);
      const objects = this.allObjects(handle);
      const { poolId, snapshot } = this.opened[handle]!;
      found.push({ ...request, source, at: `${poolId}@${snapshot.commit}`, ...(objects && { objects }) });
    }
    return found;
  }
  /** All objects of a snapshot, if they fit into a message. */
  private allObjects(handle: number): PackedPage | undefined {
    const { snapshot } = this.opened[handle]!;
    if (snapshot.objectCount > prefetchedObjectsMax) return undefined;
    const { objects } = snapshot.page({ limit: prefetchedObjectsMax, inline: false });
    // Smaller ones may have their bodies in the tables, which come along then.
    if (objects.every((o) => o.size >= inlineBytesMax)) return packPage({ objects });
    return objects.length <= prefetchedInlineMax ? packPage(snapshot.page({ limit: prefetchedInlineMax })) : undefined;
  }

  /**
   * Rows of the commits that it has opened, while they are pinned; undefined when it reads what is not counted. Takes
   * turns where there are many objects.
   */
  async rowsTotal(): Promise<number | undefined> {
    let rows = 0;
    for (const { snapshot } of this.opened) {
      for (let cursor: number | undefined; ; ) {
        if (this.released || this.readsMore) return undefined;
        const page = snapshot.page({ limit: countedObjects, inline: false, ...(cursor !== undefined && { cursor }) });
        for (const object of page.objects) rows += object.count;
        cursor = page.next;
        if (cursor === undefined) break;
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
      }
    }
    for (const { removed, added } of this.diffs) rows += removed.records + added.records;
    return this.opened.length + this.diffs.length > 0 ? rows : undefined;
  }

  release(): void {
    this.released = true;
    this.cut?.close();
    for (const { snapshot } of this.opened.splice(0)) snapshot.release();
    for (const diff of this.diffs.splice(0)) diff.release();
  }

  private at(handle: string): Opened {
    const found = this.opened[Number(handle)];
    if (!found) throw new LakeError('internal', { text: `no source ${handle}` });
    return found;
  }

  private diffAt(index: number): Diff {
    const found = this.diffs[index];
    if (!found) throw new LakeError('internal', { text: `no diff ${index}` });
    return found;
  }

  private async resolve(source: SourceRequest): Promise<readonly FoundSource[]> {
    if (this.readOnly && source.kind === 'name' && source.forLoad)
      throw new LakeError('query-writes', { what: source.verb ?? 'load' });
    const found = await this.found(source);
    if (found.some(({ kind }) => kind !== 'pool' && kind !== 'poolDiff' && kind !== 'view')) this.readsMore = true;
    return found;
  }

  private async found(source: SourceRequest): Promise<readonly FoundSource[]> {
    try {
      switch (source.kind) {
        case 'name':
          return [await this.named(source)];
        case 'lakeMeta':
          if (!lakeMetas.has(source.meta)) throw new LakeError('meta-unknown-lake', { meta: source.meta });
          return [{ kind: 'lakeMeta', name: `:${source.meta}`, handle: JSON.stringify({ meta: source.meta }) }];
        case 'glob':
          return await this.matchingGlob(source);
        case 'regexp':
          return await this.matching(
            RE2JS.compile(source.pattern),
            `${source.pattern}: pool matching regexp not found`,
          );
        case 'url':
          return [this.url(source)];
      }
    } catch (error) {
      if (source.kind === 'name' && error instanceof LakeError && error.code === 'pool-not-found')
        this.lake.missed?.(source.name);
      // The worker puts plain errors at their place in the query text.
      if (!(error instanceof LakeError) || !nameFaults.has(error.code)) throw error;
      const hint = this.hint(error, source);
      throw new SourceFault(error.message, { cause: error, ...(hint !== undefined && { hint }) });
    }
  }

  /** What a name that is not there may have been meant to be. */
  private hint(error: LakeError, source: SourceRequest): string | undefined {
    if (source.kind !== 'name') return undefined;
    switch (error.code) {
      case 'pool-not-found':
        if (this.from.files.length === 0 && looksLikePath(source.name))
          return 'files are read only from the folders that option -from.files lists';
        return nameHint(
          source.name,
          [...this.lake.pools(), ...this.lake.views()].map((p) => p.name),
        );
      case 'branch-not-found':
        return didYouMeanName(String(error.parameters['branch']), this.namesOf(source.name));
      case 'meta-unknown':
        return didYouMean(source.meta ?? '', poolMetas);
      default:
        return undefined;
    }
  }

  private namesOf(reference: string): readonly string[] {
    const pool = this.lake.pool(reference);
    return [...pool.branches(), ...pool.tags()].map(({ name }) => name);
  }

  private async named(request: Extract<SourceRequest, { kind: 'name' }>): Promise<FoundSource> {
    const { name, asof, meta, anyCase } = request;
    if (name === '') throw new Error('no pool name given');
    if (/^https?:\/\//i.test(name)) return this.url({ kind: 'url', url: name });
    const pool = this.poolNamed(name, anyCase);
    const view = pool instanceof LakeError ? this.view(request) : undefined;
    if (asof !== undefined && pool instanceof LakeError && (view || this.from.files.length > 0))
      throw new SourceFault('unknown argument "asof": only pools have it');
    if (view) return view;
    const file = pool instanceof LakeError ? await this.file(request, pool) : undefined;
    if (file) return file;
    if (pool instanceof LakeError) throw pool;
    if (request.format !== undefined) throw new SourceFault('unknown argument "format"');
    const commit = asof === undefined ? request.commit : `0x${await pool.asOf(request.commit ?? 'main', asof)}`;
    if (meta !== undefined) {
      if (!poolMetas.has(meta)) throw new LakeError('meta-unknown', { meta });
      if (meta === 'diff') return this.diff(pool.config.id, request);
      const source = {
        pool: `0x${pool.config.id}`,
        meta,
        ...(!plainMetas.has(meta) && { commit: this.commitOf(pool, commit ?? 'main') }),
      };
      return { kind: 'poolMeta', name, handle: JSON.stringify(source) };
    }
    if (request.forLoad && pool.tags().some((tag) => tag.name === commit))
      throw new LakeError('tag-fixed', { tag: commit! });
    return this.pool(name, pool.config.id, commit ?? 'main');
  }

  /** The view that a name stands for when no pool has it, or its versions; undefined if there is none. */
  private view(request: Extract<SourceRequest, { kind: 'name' }>): FoundSource | undefined {
    const { name, meta, atHead: isDefault, forLoad } = request;
    const commit = isDefault ? undefined : request.commit;
    const view = this.viewNamed(request);
    if (!view) return undefined;
    if (forLoad) throw new SourceFault(`"${name}" is a view: load into one of the pools that it reads`);
    if (request.format !== undefined) throw new SourceFault('unknown argument "format"');
    if (meta === 'log') return { kind: 'poolMeta', name, handle: JSON.stringify({ view: `0x${view.id}`, meta }) };
    if (meta !== undefined)
      throw new SourceFault(`"${name}" is a view: its metadata are ${name}:log, one row a version`);
    const { id, version, tsNs: _, author: _a, ...definition } = commit === undefined ? view : this.viewAt(view, commit);
    return { kind: 'view', ...definition, name: view.name, handle: version, isNewest: commit === undefined };
  }
  /** Within a session a view is one version. */
  private viewNamed({ name, anyCase }: Extract<SourceRequest, { kind: 'name' }>): ViewVersion | undefined {
    const lower = name.toLowerCase();
    const [meant, ...others] = anyCase ? this.lake.views().filter((v) => v.name.toLowerCase() === lower) : [];
    const view = this.lake.view(name) ?? (others.length === 0 ? meant : undefined);
    if (!view) return undefined;
    const known = this.knownViews.get(view.id);
    if (!known) this.knownViews.set(view.id, view);
    return known ?? view;
  }
  private viewAt(view: ViewVersion, version: string): ViewVersion {
    const found = this.lake.view(`0x${view.id}`, version);
    if (!found) throw new SourceFault(`${view.name}: view has no version ${version}`);
    return found;
  }

  /** `anyCase`: where none has the very name, the only one whose name differs from it in letter case alone. */
  private poolNamed(name: string, anyCase = false): ReturnType<LakeServices['pool']> | LakeError {
    try {
      return this.lake.pool(name);
    } catch (error) {
      const lower = name.toLowerCase();
      const [meant, ...others] = anyCase ? this.lake.pools().filter((p) => p.name.toLowerCase() === lower) : [];
      if (meant && others.length === 0) return this.poolNamed(meant.name);
      if (error instanceof LakeError && error.code === 'pool-not-found') return error;
      throw error;
    }
  }

  /** The file that a name stands for when no pool has it; undefined if there is none. */
  private async file(
    { name, commit, meta, format, forLoad }: Extract<SourceRequest, { kind: 'name' }>,
    noPool: LakeError,
  ): Promise<ResolvedSource | undefined> {
    const { files } = this.from;
    if (files.length === 0 || forLoad || commit !== undefined || meta !== undefined) return undefined;
    const path = await findFile(name, files).catch((error: unknown) => {
      // A name without a slash is rather that of a pool.
      throw looksLikePath(name) ? error : noPool;
    });
    return path === undefined ? undefined : fileSource(name, path, format);
  }

  private url(source: Extract<SourceRequest, { kind: 'url' }>): ResolvedSource {
    allowedUrl(source.url, this.from.http);
    return { kind: 'url', name: source.url, handle: JSON.stringify(source) };
  }

  /**
   * The commit of a branch or tag at this moment, so that all pages list one commit; the branch's name while it has none, and what
   * is no branch as it is.
   */
  private commitOf(pool: ReturnType<LakeServices['pool']>, commitish: string): string {
    try {
      const commit = pool.tip(commitish);
      return /^0*$/.test(commit) ? commitish : commit;
    } catch (error) {
      if (error instanceof LakeError && error.code === 'branch-not-found' && otherShape.test(commitish))
        return commitish;
      throw error;
    }
  }

  private async pool(name: string, poolId: string, commitish: string): Promise<ResolvedSource> {
    const key = `${poolId} ${commitish}`;
    let known = this.known.get(key);
    if (!known) this.known.set(key, (known = this.open(poolId, commitish)));
    const handle = await known;
    const { layout } = this.opened[handle]!.snapshot.pool;
    return { kind: 'pool', name, handle: String(handle), sortKeys: layout.keys, order: layout.order };
  }

  private async open(poolId: string, commitish: string): Promise<number> {
    this.cut ??= this.lake.cut?.();
    const snapshot = await this.lake.openSnapshot(`0x${poolId}`, commitish, this.cut);
    if (this.released) {
      snapshot.release();
      throw new LakeError('query-cancelled');
    }
    return this.opened.push({ snapshot, branch: commitish, poolId }) - 1;
  }

  /** What a revision changed. Each mention of it is opened by itself: that costs no rows. */
  private async diff(
    poolId: string,
    { name, commit: revision = 'main', base }: Extract<SourceRequest, { kind: 'name' }>,
  ): Promise<ResolvedSource> {
    const diff = await this.lake.openDiff(`0x${poolId}`, { revision, ...(base !== undefined && { base }) });
    if (this.released) {
      diff.release();
      throw new LakeError('query-cancelled');
    }
    const { layout, identity = [] } = diff.pool;
    const { keys, order } = layout;
    const handle = JSON.stringify({ diff: this.diffs.push(diff) - 1, keys, order, identity });
    return { kind: 'poolDiff', name, handle };
  }

  /** Pools, else files. */
  private async matchingGlob({
    pattern,
    format,
  }: Extract<SourceRequest, { kind: 'glob' | 'regexp' }>): Promise<readonly ResolvedSource[]> {
    const { files } = this.from;
    const matcher = globPattern(pattern);
    const paths =
      files.length > 0 && !this.lake.pools().some((p) => matcher.matcher(p.name).find())
        ? await expandGlob(pattern, files)
        : [];
    return paths.length > 0
      ? paths.map((path) => fileSource(path, path, format))
      : this.matching(matcher, `${pattern}: pool matching glob not found`);
  }

  private async matching(pattern: RE2JS, none: string): Promise<readonly ResolvedSource[]> {
    const found = this.lake.pools().filter((p) => pattern.matcher(p.name).find());
    if (found.length === 0) throw new Error(none);
    return Promise.all(found.map((p) => this.pool(p.name, p.id, 'main')));
  }
}

const fileSource = (name: string, path: string, format: string | undefined): ResolvedSource => ({
  kind: 'file',
  name,
  handle: JSON.stringify({ path, ...(format !== undefined && { format }) }),
});

const lakeMetas: ReadonlySet<string> = new Set(['pools', 'branches', 'tags', 'views']);
/** Of the pool as a whole. */
const plainMetas: ReadonlySet<string> = new Set(['branches', 'tags']);
const poolMetas: ReadonlySet<string> = new Set([
  'branches',
  'tags',
  'objects',
  'partitions',
  'vectors',
  'log',
  'rawlog',
  'diff',
]);

const lentOf = (snapshot: Snapshot): Snapshot => ({
  pool: snapshot.pool,
  commit: snapshot.commit,
  objectCount: snapshot.objectCount,
  page: (request) => snapshot.page(request),
  release: () => undefined,
});

/** What a worker needs to know of a pool to load into it. */
export const layoutOf = (pool: {
  readonly layout: { readonly keys: readonly (readonly string[])[]; readonly order: 'asc' | 'desc' };
  readonly threshold: number;
}): PoolLayout => ({ keys: pool.layout.keys, order: pool.layout.order, threshold: pool.threshold });

/** `*` any text, `?` one character, `[...]` one of these. */
const globPattern = (glob: string): RE2JS =>
  RE2JS.compile(
    `^${glob
      .replace(/[.+^${}()|\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
    RE2JS.DOTALL,
  );

/** `public.orders`, as tools write it, is the pool orders. */
const nameHint = (name: string, names: readonly string[]): string | undefined => {
  const last = name.slice(name.lastIndexOf('.') + 1);
  return last !== name && names.includes(last) ? `a pool has no schema: write ${last}` : didYouMeanName(name, names);
};
