/**
 * The pools of a lake, by id and by name, and the changes of that set, each in one transaction of the tables.
 *
 * Invariants:
 * - They change only in the lake's machine, one job at a time, or by what a replica follows.
 * - A name is a pool's or a view's, in one space. Pools whose row is damaged keep theirs.
 */
import { LakeError } from '../../errors.ts';
import type { PoolSettings } from '../../../machines/lake.events.ts';
import { lineageIsWhole } from '../commits/lineage.ts';
import { killPoint } from '../kill-points.ts';
import { base62, idBuffer, idOfBytes, parseId, zeroId } from '../ksuid.ts';
import type {
  BranchRecord,
  CreatePoolRequest,
  Draws,
  Id,
  LakeEvent,
  LakeOptions,
  PoolConfig,
  UnreadablePool,
} from '../lake.types.ts';
import { branchKey, decodeRow, decodePool, encodeBranch, encodeName, encodePool, nameKey } from '../tables/rows.ts';
import type { Change } from '../tables/tables.ts';
import { identityVersion } from '../tables/versions.ts';
import type { PoolFace } from './pool.ts';
import type { Stores } from './store.ts';

const seekStrideDefault = 65536;
const thresholdDefault = 524_288_000;

interface PoolsParts {
  /** Of the open lake. */
  readonly stores: () => Stores;
  readonly draws: Draws;
  readonly drew?: LakeOptions['drew'];
  /** Makes what stands for a pool. */
  readonly face: (config: PoolConfig) => PoolFace;
  /** @throws view-exists */
  readonly checkNoView: (name: string) => void;
  readonly report: (fault: unknown) => void;
}

/** The pools of one lake. */
export class Pools {
  private readonly parts: PoolsParts;
  private readonly byId = new Map<Id, PoolFace>();
  private readonly byName = new Map<string, PoolFace>();
  /** Pools whose own row is damaged: without it nothing of them can be found. */
  private readonly lost: UnreadablePool[] = [];

  constructor(parts: PoolsParts) {
    this.parts = parts;
  }

  /** Reads the rows of an open lake. */
  recover(): void {
    for (const { key, payload } of this.parts.stores().tables.rows('pools'))
      try {
        this.add(decodePool(idOfBytes(key), payload));
      } catch (fault) {
        this.lose(key, fault as Error);
      }
  }
  /** A row that should name something is damaged. */
  lose(key: Buffer, fault: Error): void {
    this.lost.push({ pool: key.toString('hex'), fault: fault.message });
    this.parts.report(fault);
  }

  all(): readonly PoolFace[] {
    return [...this.byId.values()];
  }
  byIdIfAny(id: Id): PoolFace | undefined {
    return this.byId.get(id);
  }
  /** By id, or by name in whatever Unicode form. @throws pool-not-found */
  find(reference: string): PoolFace {
    const id = parseId(reference);
    const face = (id && this.byId.get(id)) ?? this.byName.get(reference) ?? this.byName.get(reference.normalize('NFC'));
    if (!face) throw new LakeError('pool-not-found', { pool: reference });
    return face;
  }
  /** @throws pool-not-found */
  withId(id: Id): PoolFace {
    const face = this.byId.get(id);
    if (!face) throw new LakeError('pool-not-found', { pool: base62(id) });
    return face;
  }
  unreadable(): readonly UnreadablePool[] {
    return [
      ...this.lost,
      ...this.all().flatMap((face) => {
        const fault = face.fault();
        return fault === undefined ? [] : [{ pool: face.config.name, fault }];
      }),
    ];
  }

  /** @throws pool-exists, view-exists */
  checkFree(name: string): void {
    this.parts.checkNoView(name);
    this.checkNoPool(name);
  }
  /** Pools that cannot be read have their names, too. @throws pool-exists */
  checkNoPool(name: string): void {
    const key = nameKey(name);
    const payload = this.parts.stores().tables.get('names', key);
    if (payload && decodeRow('names', key, payload).name === name) throw new LakeError('pool-exists', { pool: name });
  }

  /** What its row has from now on; a pool that is not known yet comes to be. */
  put(config: PoolConfig): void {
    const face = this.byId.get(config.id);
    if (!face) {
      this.add(config);
      return;
    }
    const before = face.config.name;
    face.store.config = config;
    if (this.byName.get(before) === face) this.byName.delete(before);
    this.byName.set(config.name, face);
  }
  private add(config: PoolConfig): void {
    const face = this.parts.face(config);
    this.byId.set(config.id, face);
    this.byName.set(config.name, face);
  }
  /** It is gone; who reads it goes on with what is pinned. */
  remove(face: PoolFace): void {
    const { id, name } = face.config;
    this.byId.delete(id);
    if (this.byName.get(name) === face) this.byName.delete(name);
    face.store.deleted = true;
    this.parts.stores().snapshots.forget(id);
  }

  async create(id: Id, request: CreatePoolRequest): Promise<readonly LakeEvent[]> {
    const config = configOf(id, this.parts.draws.nowNs(), request);
    const { tsNs, name } = config;
    const { id: _, tsNs: _time, layout, ...settings } = config;
    this.parts.drew?.(id, { what: 'pool', ...settings, tsNs: String(tsNs), ...layout });
    if (config.identity) await this.parts.stores().tables.raiseVersion(identityVersion);
    const branch: BranchRecord = { tsNs, name: 'main', commit: zeroId };
    return this.write(
      { kind: 'pool-new', poolId: id, poolName: name },
      [
        { table: 'pools', key: idBuffer(id), payload: encodePool(config) },
        { table: 'names', key: nameKey(name), payload: encodeName(name, id) },
        { table: 'branches', key: branchKey(id, 'main'), payload: encodeBranch(branch) },
        lineageIsWhole(id),
      ],
      { check: () => this.checkFree(name), done: () => this.put(config) },
    );
  }
  async rename(id: Id, name: string): Promise<readonly LakeEvent[]> {
    const before = this.withId(id).config;
    const after = { ...before, name };
    return this.write(
      { kind: 'pool-update', poolId: id, poolName: name },
      [
        { table: 'pools', key: idBuffer(id), payload: encodePool(after) },
        { table: 'names', key: nameKey(name), payload: encodeName(name, id) },
        { table: 'names', key: nameKey(before.name) },
      ],
      { check: () => this.checkFree(name), done: () => this.put(after) },
    );
  }
  async set(id: Id, settings: PoolSettings): Promise<readonly LakeEvent[]> {
    const face = this.withId(id);
    const { iceberg: oldMode, icebergMapping: oldMapping, identity: oldIdentity, ...rest } = face.config;
    const { iceberg = oldMode, icebergMapping = oldMapping, identity = oldIdentity } = settings;
    const after: PoolConfig = {
      ...rest,
      ...(iceberg && iceberg !== 'off' && { iceberg }),
      ...(icebergMapping === 'variant' && { icebergMapping }),
      ...(identity?.length && { identity }),
    };
    if (after.identity) await this.parts.stores().tables.raiseVersion(identityVersion);
    return this.write(
      { kind: 'pool-update', poolId: id, poolName: after.name },
      [{ table: 'pools', key: idBuffer(id), payload: encodePool(after) }],
      { check: () => face.store.checkPool(), done: () => this.put(after) },
    );
  }
  /** Its rows are left for a purge, which the tables say from then on. */
  async delete(id: Id): Promise<readonly LakeEvent[]> {
    const face = this.withId(id);
    const { name } = face.config;
    return this.write(
      { kind: 'pool-delete', poolId: id, poolName: name },
      [
        { table: 'pools', key: idBuffer(id) },
        { table: 'names', key: nameKey(name) },
        { table: 'purges', key: idBuffer(id), payload: Buffer.alloc(0) },
      ],
      { check: () => face.store.checkPool(), done: () => this.remove(face) },
    );
  }

  private async write(
    draft: Omit<LakeEvent, 'id'>,
    rows: readonly Change[],
    { check, done }: { readonly check: () => void; readonly done: () => void },
  ): Promise<readonly LakeEvent[]> {
    const events = await this.parts.stores().feed.write(draft, rows, check, { frees: draft.kind === 'pool-delete' });
    killPoint('pool: in the tables');
    done();
    return events;
  }
}

const configOf = (id: Id, tsNs: bigint, request: CreatePoolRequest): PoolConfig => ({
  tsNs,
  name: request.name,
  id,
  layout: {
    order: request.order ?? 'asc',
    keys: request.keys && request.keys.length > 0 ? request.keys : [['ts']],
  },
  seekStride: request.seekStride || seekStrideDefault,
  threshold: request.threshold || thresholdDefault,
  ...(request.iceberg && { iceberg: request.iceberg }),
  ...(request.icebergMapping === 'variant' && { icebergMapping: request.icebergMapping }),
  ...(request.identity?.length && { identity: request.identity }),
});
