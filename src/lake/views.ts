/**
 * The views of a lake: queries that have a name, each with all the versions that it had.
 *
 * Invariants:
 * - A name is either a pool's or a view's, in one space: both change in the lake's machine alone, one job at a time.
 * - A version is one row, whose text never changes: its key is the view's id and its own, so that the newest is the last
 *   one. A view's id is that of its first version.
 * - All versions of a view have its name: a new name is a new version, and is written into the others with it.
 * - A lake that has had a view is of a newer format (`viewsVersion`): builds that know of none refuse it by name.
 */
import { LakeError } from '../errors.ts';
import type { Feed } from './feed.ts';
import { base62, idBuffer, idOfBytes, parseId, zeroId } from './ksuid.ts';
import { killPoint } from './kill-points.ts';
import type { Draws, EventKind, Id, LakeEvent, LakeOptions, ViewDefinition, ViewVersion } from './lake.types.ts';
import { decodeView, encodeView, pairKey } from './tables/rows.ts';
import type { Change, KeyValue, Tables } from './tables/tables.ts';
import { viewsVersion } from './tables/versions.ts';

/** What a change of a view comes to: its rows with their event, and what holds once these are durable. */
interface ViewWrite {
  readonly event: { readonly kind: EventKind; readonly poolId: Id; readonly poolName: string; readonly commitId?: Id };
  readonly rows: readonly Change[];
  readonly done: () => void;
}
interface ViewsParts {
  readonly tables: Tables;
  readonly feed: Feed;
  readonly draws: Draws;
  readonly drew?: LakeOptions['drew'];
}

/** The views of one lake. */
export class Views {
  private readonly byId = new Map<Id, ViewVersion>();
  private readonly byName = new Map<string, ViewVersion>();
  private readonly parts: ViewsParts;

  /** `lost`: told of rows that are damaged. */
  constructor(parts: ViewsParts, lost: (row: KeyValue, fault: Error) => void) {
    this.parts = parts;
    for (const row of parts.tables.rows('views')) {
      try {
        // In order of their keys: a later version takes the place of an earlier one.
        const view = decodeView(row.key, row.payload);
        this.byId.set(view.id, view);
      } catch (fault) {
        lost(row, fault as Error);
      }
    }
    for (const view of this.byId.values()) this.byName.set(view.name, view);
  }
  private set(view: ViewVersion): void {
    const { name } = this.byId.get(view.id) ?? view;
    if (name !== view.name && this.byName.get(name)?.id === view.id) this.byName.delete(name);
    this.byId.set(view.id, view);
    this.byName.set(view.name, view);
  }

  /** A replica's tables have this row now, or lack it. */
  followed(key: Buffer, payload: Buffer | undefined): void {
    if (payload) {
      this.set(decodeView(key, payload));
      return;
    }
    const view = this.byId.get(idOfBytes(key.subarray(0, zeroId.length / 2)));
    if (!view || this.parts.tables.keys('views', { prefix: idBuffer(view.id), limit: 1 }).length > 0) return;
    this.byId.delete(view.id);
    if (this.byName.get(view.name) === view) this.byName.delete(view.name);
  }

  all(): readonly ViewVersion[] {
    return [...this.byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }
  has(name: string): boolean {
    return this.byName.has(name);
  }
  named(name: string): ViewVersion | undefined {
    return this.byName.get(name);
  }
  /** By id, or by name in whatever Unicode form. Undefined too for a version that it never had. */
  find(reference: string, version?: string): ViewVersion | undefined {
    const id = parseId(reference);
    const view =
      (id === undefined ? undefined : this.byId.get(id)) ??
      this.byName.get(reference) ??
      this.byName.get(reference.normalize('NFC'));
    if (!view || version === undefined) return view;
    const wanted = parseId(version);
    const key = wanted === undefined ? undefined : pairKey(view.id, wanted);
    const payload = key && this.parts.tables.get('views', key);
    return key && payload && decodeView(key, payload);
  }
  /** All versions of a view, the newest first. */
  versions(id: Id): readonly ViewVersion[] {
    return this.parts.tables
      .rows('views', { prefix: idBuffer(id) })
      .map(({ key, payload }) => decodeView(key, payload))
      .reverse();
  }

  /** @throws view-exists */
  checkFree(name: string): void {
    if (this.has(name)) throw new LakeError('view-exists', { view: name });
  }
  /** It may have been dropped, or changed, since the job was asked for. @throws view-not-found, view-moved */
  check({ viewId, from }: { readonly viewId: Id; readonly from?: Id }): void {
    const view = this.known(viewId);
    if (from !== undefined && view.version !== from) throw movedView(view);
  }
  create(id: Id, definition: ViewDefinition): Promise<readonly LakeEvent[]> {
    return this.put('view-new', id, id, definition);
  }
  replace(id: Id, version: Id, definition: ViewDefinition): Promise<readonly LakeEvent[]> {
    return this.put('view-update', id, version, definition);
  }
  rename(id: Id, version: Id, definition: ViewDefinition): Promise<readonly LakeEvent[]> {
    return this.put('view-update', id, version, definition, this.versions(id).toReversed());
  }
  drop(id: Id): Promise<readonly LakeEvent[]> {
    const { name } = this.known(id);
    return this.write({
      event: { kind: 'view-delete', poolId: id, poolName: name },
      rows: this.parts.tables.keys('views', { prefix: idBuffer(id) }).map((key) => ({ table: 'views', key })),
      done: () => {
        this.byId.delete(id);
        this.byName.delete(name);
      },
    });
  }
  private known(id: Id): ViewVersion {
    const view = this.byId.get(id);
    if (!view) throw new LakeError('view-not-found', { view: base62(id) });
    return view;
  }

  /** `renamed`: earlier versions that get the name, too. */
  private async put(
    kind: EventKind,
    id: Id,
    version: Id,
    definition: ViewDefinition,
    renamed: readonly ViewVersion[] = [],
  ): Promise<readonly LakeEvent[]> {
    const { tables, draws, drew } = this.parts;
    const tsNs = draws.nowNs();
    const view: ViewVersion = { id, version, tsNs, ...definition };
    drew?.(id, { what: 'view', version, tsNs: String(tsNs), ...definition });
    await tables.raiseVersion(viewsVersion);
    return this.write({
      event: { kind, poolId: id, poolName: view.name, commitId: version },
      rows: [...renamed.map((earlier) => rowOf({ ...earlier, name: view.name })), rowOf(view)],
      done: () => {
        this.set(view);
      },
    });
  }
  private async write({ event, rows, done }: ViewWrite): Promise<readonly LakeEvent[]> {
    const events = await this.parts.feed.write(event, rows, () => undefined, { frees: event.kind === 'view-delete' });
    killPoint('view: in the tables');
    done();
    return events;
  }
}

const rowOf = (view: ViewVersion): Change => ({
  table: 'views',
  key: pairKey(view.id, view.version),
  payload: encodeView(view),
});
/** Of a view that has another version than those that were allowed. */
export const movedView = ({ name, version }: ViewVersion): LakeError =>
  new LakeError('view-moved', { view: name, version: base62(version) }, { details: { version: `0x${version}` } });
