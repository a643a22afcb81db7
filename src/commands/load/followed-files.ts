/** The files that are followed: which they are, whatever happens to their names, and what of each is to be loaded. */
import { randomUUID } from 'node:crypto';
import { type BigIntStats, readdirSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { dirname, join, resolve as resolvePath } from 'node:path';
import { pathlessMessageOf } from '../../errors.ts';
import { type FormatName, requestMediaType } from '../../formats/formats.ts';
import type { CommandIo } from '../io.ts';
import { type BatchLimits, formatOfLines, headerOf, isFollowed, linesFrom, restOfLine } from './batches.ts';
import { type FollowState, knownBy, type Place } from './follow-state.ts';
import { formatOfInput } from './inputs.ts';
import { continues, markAt, markBehind, noMark, pathContinues, read } from './marks.ts';
import { Refused, type Target } from './service.ts';
import { ship } from './shipment.ts';

/** A file that was renamed away is read until nothing has come for so long. */
const quietMs = 5000;
/** Files that are not found are remembered for so long: they may come back. */
const goneMsMax = 7 * 864e5;
/** A copy is one of its own when it has not changed for so long and its original was not truncated. */
const copyMs = 10_000;
/** What a rotation compressed was loaded before. */
const compressed = /\.(?:gz|zst|bz2|xz|zip)$/i;

interface FollowOptions {
  readonly target: Target;
  readonly state: FollowState;
  readonly io: CommandIo;
  readonly limits: BatchLimits & { readonly waitMs: number; readonly parallel: number };
  /** The first line of CSV and TSV has the names of the columns. */
  readonly hasHeader: boolean;
  readonly ending: AbortSignal;
  readonly giveUp: AbortSignal;
}
/** A file that is open. */
interface Followed {
  place: Place;
  readonly file: FileHandle;
  /** Whether the command's arguments mean it; else it was renamed or copied away. */
  isMeant: boolean;
  /** Bytes it had when it was last looked at, when it was written then, and since when that is so. */
  size: number;
  writtenMs: number;
  sameSince: number;
  /** Since when it has had bytes that are not loaded. */
  moreSince: number | undefined;
  /** Up to this size there is no whole line behind the place. */
  withoutLine: number;
}

export class FollowedFiles {
  private readonly options: FollowOptions;
  private readonly open = new Map<string, Followed>();
  private readonly copies = new Map<string, { readonly size: number; readonly since: number }>();
  private readonly told = new Set<string>();

  constructor(options: FollowOptions) {
    this.options = options;
  }

  /** Finds out which files there are: paths that are meant, and those that were and have moved. */
  async look(paths: readonly string[]): Promise<void> {
    for (const followed of [...this.open.values()]) await this.check(followed);
    for (const followed of this.open.values()) followed.isMeant = false;
    for (const path of paths) await this.meet(path);
    for (const place of [...this.options.state.places.values()]) if (!this.open.has(place.id)) await this.search(place);
  }

  /** Loads a batch of each file that has one; whether any had. @throws Ended, Refused, Error for a file as it is */
  async load(): Promise<boolean> {
    const waiting = [...this.open.values()];
    let next = 0;
    let any = false;
    const work = async (): Promise<void> => {
      while (next < waiting.length && !this.options.ending.aborted) {
        const followed = waiting[next++]!;
        if (await this.loadBatch(followed)) any = true;
        else await this.finish(followed);
      }
    };
    const works = Array.from({ length: Math.min(waiting.length, this.options.limits.parallel) }, work);
    for (const { status, ...end } of await Promise.allSettled(works))
      if (status === 'rejected') throw (end as PromiseRejectedResult).reason;
    return any;
  }

  async close(): Promise<void> {
    for (const { file } of this.open.values()) await file.close();
    this.open.clear();
  }

  /** Whether it still is what was loaded; else it was truncated, and its place is given up. */
  private async check(followed: Followed): Promise<void> {
    const { size, mtimeMs } = await followed.file.stat();
    if (size === followed.size && mtimeMs === followed.writtenMs) return;
    followed.size = size;
    followed.writtenMs = mtimeMs;
    followed.sameSince = Date.now();
    if (await continues(followed.file, knownBy(followed.place))) return;
    await this.leave(followed);
    const { offset } = followed.place.mark;
    this.tell(followed.place, `truncated when ${offset} bytes were loaded: followed from its beginning`);
  }
  private async leave({ place, file }: Followed): Promise<void> {
    this.open.delete(place.id);
    await file.close();
  }

  /** A path that is meant. */
  private async meet(path: string): Promise<void> {
    if (compressed.test(path)) {
      if (!this.told.has(path)) this.options.io.complain(`${path}: compressed, not followed\n`);
      this.told.add(path);
      return;
    }
    const where = resolvePath(this.options.io.cwd, path);
    const seen = await stat(where, { bigint: true }).catch(() => undefined);
    const known = seen && this.openWith(inodeOf(seen));
    if (known) {
      known.isMeant = true;
      if (known.place.name !== path) this.keep(known, { ...known.place, name: path });
      return;
    }
    const file = await open(where, 'r').catch((problem: NodeJS.ErrnoException) => {
      if (problem.code === 'ENOENT') return undefined;
      throw new Error(`${path}: ${pathlessMessageOf(problem)}`);
    });
    if (!file) return;
    const inode = inodeOf(await file.stat({ bigint: true }));
    if (this.openWith(inode) || (await this.isCopy(file, path))) return file.close();
    const { gone: _, ...place } = (await this.placeOf(file, inode)) ?? this.fresh(path, inode);
    await this.begin({ ...place, name: path, inode }, file, true);
  }
  private openWith(inode: string): Followed | undefined {
    return [...this.open.values()].find(({ place }) => place.inode === inode);
  }
  /** Whether it is being made of a file that is followed, which may be truncated then. */
  private async isCopy(file: FileHandle, path: string): Promise<boolean> {
    const { size } = await file.stat();
    const before = this.copies.get(path);
    this.copies.delete(path);
    if (size === 0) return false;
    if (before?.size === size && Date.now() - before.since > copyMs) return false;
    const whole = await markAt(file, size);
    for (const other of this.open.values()) {
      if (!(await continues(other.file, whole))) continue;
      this.copies.set(path, before?.size === size ? before : { size, since: Date.now() });
      return true;
    }
    return false;
  }
  /** The place that a file is at; undefined: it is a new one. */
  private async placeOf(file: FileHandle, inode: string): Promise<Place | undefined> {
    const places = [...this.options.state.places.values()]
      .filter(({ id }) => !this.open.has(id))
      .sort((a, b) => Number(b.inode === inode) - Number(a.inode === inode) || knownBy(b).offset - knownBy(a).offset);
    for (const place of places) {
      const mark = knownBy(place);
      const mayBe = place.inode === inode || (mark.offset > 0 && place.gone === undefined);
      if (mayBe && (await continues(file, mark))) return place;
    }
    return undefined;
  }
  /** @throws Error for a format that cannot be followed */
  private fresh(path: string, inode: string): Place {
    const format = this.options.target.format ?? formatOfInput({ kind: 'file', name: path, path }) ?? '';
    // Any text may be in a file with such a name.
    const known = format === 'line' && this.options.target.format === undefined ? '' : format;
    if (known !== '' && !isFollowed(known)) throw new Error(`${path}: ${known} cannot be followed, lines can`);
    const place: Place = { id: randomUUID(), inode, name: path, format: known, mark: noMark };
    const truncated = [...this.options.state.places.values()].find((other) => other.inode === inode);
    const before = truncated?.format === '' ? truncated.before : truncated?.format;
    return known === '' && before === 'json' ? { ...place, before } : place;
  }

  /** A place whose file was not met: it was renamed or copied to beside where it was, or is gone. */
  private async search(place: Place): Promise<void> {
    const { state, io } = this.options;
    const now = Date.now();
    if (place.gone !== undefined) {
      if (now - place.gone > goneMsMax) state.forget(place.id);
      return;
    }
    const mark = knownBy(place);
    const folder = dirname(resolvePath(io.cwd, place.name));
    for (const name of mark.offset > 0 ? namesIn(folder) : []) {
      const path = join(folder, name);
      if (compressed.test(name) || !(await pathContinues(path, mark))) continue;
      const file = await open(path, 'r').catch(() => undefined);
      if (!file) continue;
      const inode = inodeOf(await file.stat({ bigint: true }));
      if (this.openWith(inode)) await file.close();
      else return this.begin({ ...place, inode }, file, false);
    }
    if (mark.offset === 0) return state.forget(place.id);
    state.keep({ ...place, gone: now });
    if (place.sending)
      this.tell(place, `gone, and so may be what was sent last: bytes ${place.mark.offset} to ${mark.offset}`);
  }

  private async begin(place: Place, file: FileHandle, isMeant: boolean): Promise<void> {
    const { size, mtimeMs } = await file.stat();
    this.options.state.keep(place);
    this.open.set(place.id, {
      place,
      file,
      isMeant,
      size,
      writtenMs: mtimeMs,
      sameSince: Date.now(),
      moreSince: undefined,
      withoutLine: 0,
    });
  }
  private keep(followed: Followed, place: Place): void {
    followed.place = place;
    this.options.state.keep(place);
  }

  /** Whether there was a batch. */
  private async loadBatch(followed: Followed): Promise<boolean> {
    const { limits, state, target } = this.options;
    const { place, file } = followed;
    const { mark } = place;
    if (place.sending) {
      const bytes = await read(file, mark.offset, place.sending.mark.offset - mark.offset);
      return this.send(followed, bytes, place.sending);
    }
    const more = followed.size - mark.offset;
    const now = Date.now();
    followed.moreSince = more > 0 ? (followed.moreSince ?? now) : undefined;
    const isLast = this.isQuiet(followed);
    if (more <= 0 || (followed.size <= followed.withoutLine && !isLast)) return false;
    if (more < limits.bytes && now - followed.moreSince! < limits.waitMs && !isLast) return false;
    const name = place.format === '' ? 'line' : place.format;
    const lines = await linesFrom(file, mark.offset, limits, { format: name, isLast }).catch((problem: unknown) => {
      throw problem instanceof Error ? new Error(`${place.name}: ${problem.message}`) : problem;
    });
    if (lines.length === 0) {
      followed.withoutLine = followed.size;
      return false;
    }
    const { bytes, format, kept } = await this.formOf(place, lines);
    const sending = {
      mark: await markBehind(file, mark, bytes),
      path: target.path,
      headers: { 'content-type': requestMediaType(format)!, ...noteOf(target) },
    };
    // It may have been truncated while it was read.
    if (!(await continues(file, mark))) {
      followed.writtenMs = NaN;
      return true;
    }
    this.keep(followed, { ...place, format: kept, sending });
    state.write();
    return this.send(followed, bytes, sending);
  }
  /** The format of lines, that of the lines behind them where it is known by then, and as many of them as have it. */
  private async formOf(
    place: Place,
    lines: Uint8Array,
  ): Promise<{ readonly bytes: Uint8Array; readonly format: FormatName; readonly kept: Place['format'] }> {
    if (place.format !== '') return { bytes: lines, format: place.format, kept: place.format };
    const format = await formatOfLines(lines);
    const mayBeRest = format === 'line' && place.before === 'json' && place.mark.offset === 0;
    const rest = mayBeRest ? await restOfLine(lines) : undefined;
    if (!rest) return { bytes: lines, format, kept: format };
    this.tell(place, 'begins within a line, whose rest is loaded as a text');
    return { bytes: rest, format, kept: '' };
  }
  /** @throws Ended, Refused */
  private async send(followed: Followed, bytes: Uint8Array, sending: NonNullable<Place['sending']>): Promise<boolean> {
    const { place, file } = followed;
    const { sending: _, ...settled } = place;
    const from = place.mark.offset;
    const to = sending.mark.offset;
    const format = place.format === '' ? 'line' : place.format;
    const { hasHeader, limits } = this.options;
    const header = hasHeader || format === 'zeek' ? await headerOf(file, from, format, limits) : Buffer.alloc(0);
    const key = `lake-load-${place.id}-${from}-${to}`;
    try {
      const loaded = await ship(
        this.options.target,
        {
          path: sending.path,
          headers: { ...sending.headers, 'idempotency-key': key },
          body: Buffer.concat([header, bytes]),
        },
        {
          ...this.options,
          tell: (text) => {
            this.tell(place, text);
          },
        },
      );
      this.keep(followed, { ...settled, mark: sending.mark });
      followed.moreSince = undefined;
      const { commit, warnings = [], told } = loaded ?? {};
      for (const warning of warnings) this.tell(place, `warning: ${warning}`);
      for (const { line, error } of told?.faults ?? []) this.tell(place, `bytes ${from}-${to}, line ${line}: ${error}`);
      if (commit !== undefined) await this.options.io.write(Buffer.from(`${commit} ${place.name} ${from}-${to}\n`));
      return true;
    } catch (problem) {
      if (!(problem instanceof Refused)) throw problem;
      // It made no commit, and may be sent otherwise the next time.
      this.keep(followed, settled);
      throw new Error(`${place.name}: bytes ${from}-${to}: ${problem.message}`, { cause: problem });
    }
  }

  /** What was renamed away and is quiet is done with. */
  private async finish(followed: Followed): Promise<void> {
    if (!this.isQuiet(followed) || followed.place.mark.offset < followed.size) return;
    await this.leave(followed);
    this.options.state.forget(followed.place.id);
  }
  private isQuiet({ isMeant, sameSince }: Followed): boolean {
    return !isMeant && Date.now() - sameSince >= quietMs;
  }
  private tell({ name }: Place, text: string): void {
    this.options.io.complain(`${name}: ${text}\n`);
  }
}

const noteOf = ({ headers }: Target): Target['headers'] => {
  const note = headers['superdb-commit'];
  return note === undefined ? {} : { 'superdb-commit': note };
};
const inodeOf = ({ dev, ino }: BigIntStats): string => `${dev}-${ino}`;
/** Names of regular files. */
const namesIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);
  } catch {
    return [];
  }
};
