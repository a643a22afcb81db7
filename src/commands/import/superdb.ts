/**
 * Reads a lake of SuperDB v0.2.0 from its folder, as it was found there:
 *
 * - `superdb.bsup` says that it is one, and its version.
 * - `pools/` and each pool's `branches/` are journals: files 1.bsup, 2.bsup and so on up to the number in HEAD, each with
 *   the entries of one change: an `entry` by its name, or an `entry_key` that goes. TAIL says where it begins.
 * - A pool's folder has its id's name. In `commits/`, a file for each commit: who, when and why, then the objects that it
 *   adds and deletes. In `data/`, a file of BSUP for each object.
 */
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../errors.ts';
import { openReader } from '../../formats/formats.ts';
import { base62, parseId, zeroId } from '../../lake/ksuid.ts';
import type { Id } from '../../lake/lake.types.ts';
import { supText } from '../../vectors/sup/print.ts';
import type { Type } from '../../vectors/type.ts';
import { type Value, fieldsData, itemsData, memberData } from '../../vectors/value.ts';
import { valueAt } from '../../vectors/vector.ts';

/** A pool as it is now. */
export interface ForeignPool {
  readonly id: Id;
  readonly name: string;
  readonly tsNs: bigint;
  readonly order: 'asc' | 'desc';
  readonly keys: readonly (readonly string[])[];
  readonly seekStride: number;
  readonly threshold: number;
}
/** What happened to a branch: it is at a commit from then on, or (`commit` undefined) no longer there. */
export interface BranchMove {
  readonly name: string;
  readonly commit: Id | undefined;
  /** When the branch was made. */
  readonly tsNs: bigint;
}
/** A data object, as the commit that adds it tells of it. */
export interface ForeignObject {
  readonly id: Id;
  readonly count: number;
  /** Bytes of its file. */
  readonly size: number;
}
/** A commit. `unknown`: kinds of changes that are not known. */
export interface ForeignCommit {
  readonly id: Id;
  readonly parent: Id;
  readonly author: string;
  readonly dateNs: bigint;
  readonly message: string;
  /** SUP. */
  readonly meta: string;
  readonly adds: readonly ForeignObject[];
  readonly deletes: readonly Id[];
  readonly addVectors: readonly Id[];
  readonly deleteVectors: readonly Id[];
}

const magic = 'SUPERDB';
const versionRead = 5;

/** The folder of such a lake. */
export class ForeignLake {
  private readonly folder: string;
  private constructor(folder: string) {
    this.folder = folder;
  }

  /** @throws Error where the folder is none, or of another version */
  static async open(folder: string): Promise<ForeignLake> {
    const mark = join(folder, 'superdb.bsup');
    if (!existsSync(mark)) throw new Error(`${folder}: no SuperDB lake: it has no superdb.bsup`);
    const [found] = await recordsOf(mark);
    if (text(found?.['magic']) !== magic) throw new Error(`${mark}: the mark of a SuperDB lake is missing`);
    const version = Number(found?.['version']);
    if (version !== versionRead)
      throw new Error(`${mark}: storage version ${version}, read is ${versionRead} (SuperDB v0.2.0)`);
    return new ForeignLake(folder);
  }

  async pools(): Promise<readonly ForeignPool[]> {
    const pools = new Map<string, ForeignPool>();
    for await (const { name, entry, file } of journal(join(this.folder, 'pools'))) {
      if (!entry) pools.delete(name);
      else {
        const { layout, ...rest } = entry;
        if (typeof layout !== 'object') throw new Error(`${file}: the entry of a pool is expected`);
        const { order, keys } = layout as Plain;
        pools.set(name, {
          id: idOf(rest['id'], file),
          name,
          tsNs: BigInt(rest['ts'] as bigint),
          order: order === 'desc' ? 'desc' : 'asc',
          keys: (keys ?? []) as readonly (readonly string[])[],
          seekStride: Number(rest['seek_stride']),
          threshold: Number(rest['threshold']),
        });
      }
    }
    return [...pools.values()];
  }

  /** What happened to a pool's branches, in order. */
  async *moves(pool: ForeignPool): AsyncGenerator<BranchMove> {
    for await (const { name, entry, file } of journal(join(this.of(pool), 'branches')))
      yield { name, commit: entry && idOf(entry['commit'], file), tsNs: BigInt((entry?.['ts'] ?? 0) as bigint) };
  }

  /** @throws Error where it is not there or not as it should be */
  async commit(pool: ForeignPool, id: Id): Promise<ForeignCommit> {
    const file = join(this.of(pool), 'commits', `${base62(id)}.bsup`);
    if (!existsSync(file)) throw new Error(`${file}: commit is missing`);
    const [head, ...changes] = await valuesOf(file);
    if (!head || nameOf(head) !== 'commits.Commit') throw new Error(`${file}: does not begin with a commit`);
    const of = plain(head) as Plain;
    const meta = fieldOf(head, 'meta');
    const adds: ForeignObject[] = [];
    const sorted = new Map<string, Id[]>();
    for (const change of changes) {
      const kind = nameOf(change);
      const field = changeFields[kind];
      if (field === undefined) throw new Error(`${file}: change of an unknown kind ${kind}`);
      const { object, id: named } = plain(change) as Plain;
      if (field === 'adds') {
        const { id: added, count, size } = object as Plain;
        adds.push({ id: idOf(added, file), count: Number(count), size: Number(size) });
      } else sorted.set(field, [...(sorted.get(field) ?? []), idOf(named, file)]);
    }
    return {
      id,
      parent: idOf(of['parent'], file),
      author: text(of['author']),
      dateNs: BigInt(of['date'] as bigint),
      message: text(of['message']),
      meta: meta ? supText(meta) : 'null',
      adds,
      deletes: sorted.get('deletes') ?? [],
      addVectors: sorted.get('addVectors') ?? [],
      deleteVectors: sorted.get('deleteVectors') ?? [],
    };
  }

  /**
   * The bytes of an object, which are BSUP; undefined: it was vacuumed. @throws Error where the file is cut, or that of
   * another object
   */
  object(pool: ForeignPool, { id, size }: ForeignObject): AsyncIterable<Uint8Array> | undefined {
    const file = this.fileOf(pool, id);
    if (!existsSync(file)) return undefined;
    const found = statSync(file).size;
    if (found !== size) throw new Error(`${file}: has ${found} bytes, its commit says ${size}`);
    return createReadStream(file, { highWaterMark: 1 << 18 });
  }
  /** Where the rows of an object are. */
  fileOf(pool: ForeignPool, id: Id): string {
    return join(this.of(pool), 'data', `${base62(id)}.bsup`);
  }

  private of({ id }: ForeignPool): string {
    return join(this.folder, base62(id));
  }
}

const changeFields: Readonly<Record<string, 'adds' | 'deletes' | 'addVectors' | 'deleteVectors'>> = {
  'commits.Add': 'adds',
  'commits.Delete': 'deletes',
  'commits.AddVector': 'addVectors',
  'commits.DeleteVector': 'deleteVectors',
};

/** An entry that is made or changed, or (`entry` undefined) goes. */
interface JournalEntry {
  readonly name: string;
  readonly entry: Plain | undefined;
  readonly file: string;
}
async function* journal(folder: string): AsyncGenerator<JournalEntry> {
  const head = headOf(folder);
  const tail = readFileSync(join(folder, 'TAIL'), 'utf8').trim();
  if (tail !== '1 0')
    throw new Error(`${folder}: a journal with TAIL ${JSON.stringify(tail)}: only whole ones ("1 0") are read`);
  for (let n = 1; n <= head; n++) {
    const file = join(folder, `${n}.bsup`);
    for (const record of await recordsOf(file)) {
      const entry = record['entry'] as Plain | undefined;
      const name = entry ? entry['name'] : record['entry_key'];
      if (typeof name !== 'string') throw new Error(`${file}: an entry with a name is expected`);
      yield { name, entry, file };
    }
  }
}

/** The last entry that counts. An entry behind it is not passed over: a HEAD that was cut off looks like that. */
const headOf = (folder: string): number => {
  const text = readFileSync(join(folder, 'HEAD'), 'utf8').trim();
  if (!/^\d{1,15}$/.test(text)) throw new Error(`${folder}: HEAD is ${JSON.stringify(text)}, a number is expected`);
  const head = Number(text);
  const beyond = readdirSync(folder).find((name) => /^\d+\.bsup$/.test(name) && Number.parseInt(name, 10) > head);
  if (beyond !== undefined)
    throw new Error(`${folder}: HEAD is ${text}, and there is ${beyond}: HEAD is damaged, or a commit was cut off`);
  return head;
};

type Plain = Readonly<Record<string, unknown>>;

const valuesOf = async (file: string): Promise<readonly Value[]> => {
  const values: Value[] = [];
  try {
    for await (const batch of await openReader('bsup', createReadStream(file)))
      for (let i = 0; i < batch.length; i++) values.push(valueAt(batch, i));
  } catch (cause) {
    throw new Error(`${file}: ${messageOf(cause)}`, { cause });
  }
  return values;
};
const recordsOf = async (file: string): Promise<readonly Plain[]> =>
  (await valuesOf(file)).map((value) => plain(value) as Plain);

const nameOf = ({ type }: Value): string => (type.kind === 'named' ? type.name : '');
/** Records as objects, lists as arrays; what they hold as a value's data has it. */
const plain = ({ type, data }: Value): unknown => {
  switch (type.kind) {
    case 'named':
    case 'error':
      return plain({ type: type.inner, data });
    case 'union':
      return plain(memberData(data));
    case 'record':
      return Object.fromEntries(
        type.fields.flatMap((field, i) => {
          const inner = fieldsData(data)[i];
          return inner === undefined ? [] : [[field.name, plain({ type: field.type, data: inner })]];
        }),
      );
    case 'array':
      return itemsData(data).map((one) => plain({ type: type.element, data: one }));
    default:
      return data;
  }
};
const fieldOf = (value: Value, name: string): Value | undefined => {
  const type: Type = value.type.kind === 'named' ? value.type.inner : value.type;
  if (type.kind !== 'record') return undefined;
  const at = type.fields.findIndex((field) => field.name === name);
  const data = fieldsData(value.data)[at];
  return data === undefined ? undefined : { type: type.fields[at].type, data };
};
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const idOf = (value: unknown, file: string): Id => {
  const id = value instanceof Uint8Array ? parseId(`0x${Buffer.from(value).toString('hex')}`) : undefined;
  if (id === undefined && value instanceof Uint8Array && value.every((byte) => byte === 0)) return zeroId;
  if (id === undefined) throw new Error(`${file}: an id is expected`);
  return id;
};
