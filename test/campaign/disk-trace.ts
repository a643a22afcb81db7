/**
 * What a process did to the files of a folder, from its system calls (strace), and the disk as a power cut leaves it
 * after any of them.
 *
 * - A write is on the disk when a later fsync or fdatasync of its file has returned that began after the write
 *   returned, or when the file was opened with O_DSYNC. The power may go in the middle of that one, if it is the last.
 * - A name (created, removed, renamed) is on the disk when a later fsync of its folder has returned.
 * - Of everything else the disk may have any part, sector by sector.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Random } from '../support/random.ts';

const tracedCalls =
  'openat,close,lseek,write,writev,pwrite64,pwritev,ftruncate,fallocate,fsync,fdatasync,msync,sync_file_range,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir';
export const straceCommand = (out: string): readonly string[] => [
  'strace',
  '-f',
  '--seccomp-bpf',
  '-xx',
  '-s',
  '4000000',
  '-o',
  out,
  '-e',
  `trace=${tracedCalls}`,
];

/** `from`: the number of events that had ended when this one began. */
type Event =
  | {
      readonly kind: 'write';
      readonly file: number;
      readonly offset: number;
      readonly data: Buffer;
      readonly synced: boolean;
    }
  | { readonly kind: 'truncate'; readonly file: number; readonly size: number }
  | { readonly kind: 'sync'; readonly file: number; readonly from: number }
  | { readonly kind: 'link'; readonly path: string; readonly file: number; readonly isFolder: boolean }
  | { readonly kind: 'unlink'; readonly path: string }
  | { readonly kind: 'sync folder'; readonly path: string; readonly from: number }
  | { readonly kind: 'said'; readonly line: string };

export interface Trace {
  readonly events: readonly Event[];
}

interface Descriptor {
  readonly file?: number;
  readonly folder?: string;
  readonly synced: boolean;
  position: number;
}

/** Reads strace's output; files outside of the folder are left out. Paths in the trace are relative to it. */
export const readTrace = (path: string, folder: string): Trace => {
  const events: Event[] = [];
  const descriptors = new Map<number, Descriptor>();
  const names = new Map<string, number>();
  const open = new Map<string, { readonly text: string; readonly from: number }>();
  let files = 0;
  let said = '';
  const inside = (name: string): string | undefined =>
    name === folder ? '' : name.startsWith(`${folder}/`) ? name.slice(folder.length + 1) : undefined;
  const take = (call: string, argv: string, result: number, from: number): void => {
    const fd = Number(/^\d+/.exec(argv)?.[0] ?? -1);
    const descriptor = descriptors.get(fd);
    const strings = [...argv.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map((m) =>
      Buffer.from(m[1]!.replaceAll('\\x', ''), 'hex'),
    );
    const [first, second] = strings.map((s) => inside(s.toString()));
    if (call === 'openat') {
      const name = first;
      descriptors.delete(result);
      if (name === undefined) return;
      const known = names.get(name);
      if (known === undefined && !argv.includes('O_CREAT'))
        return void descriptors.set(result, { folder: name, synced: false, position: 0 });
      const file = known ?? files++;
      if (known === undefined) {
        names.set(name, file);
        events.push({ kind: 'link', path: name, file, isFolder: false });
      } else if (argv.includes('O_TRUNC')) events.push({ kind: 'truncate', file, size: 0 });
      descriptors.set(result, { file, synced: /O_D?SYNC/.test(argv), position: 0 });
    } else if (call === 'close') {
      // The number is a socket's next.
      descriptors.delete(fd);
    } else if (call === 'lseek') {
      if (descriptor) descriptor.position = result;
    } else if (/^p?writev?(64)?$/.test(call)) {
      const data = Buffer.concat(strings).subarray(0, result);
      if (fd === 1) {
        const lines = (said + data.toString()).split('\n');
        said = lines.pop()!;
        for (const line of lines) events.push({ kind: 'said', line });
      }
      if (descriptor?.file === undefined) return;
      const offset = call.startsWith('p') ? Number(/(\d+)$/.exec(argv)![1]) : descriptor.position;
      if (!call.startsWith('p')) descriptor.position += result;
      events.push({ kind: 'write', file: descriptor.file, offset, data, synced: descriptor.synced });
    } else if (call === 'ftruncate') {
      if (descriptor?.file !== undefined)
        events.push({ kind: 'truncate', file: descriptor.file, size: Number(/(\d+)$/.exec(argv)![1]) });
    } else if (call === 'fsync' || call === 'fdatasync') {
      if (descriptor?.file !== undefined) events.push({ kind: 'sync', file: descriptor.file, from });
      else if (descriptor?.folder !== undefined) events.push({ kind: 'sync folder', path: descriptor.folder, from });
    } else if (call.startsWith('mkdir')) {
      if (first !== undefined) events.push({ kind: 'link', path: first, file: files++, isFolder: true });
    } else if (call.startsWith('unlink') || call === 'rmdir') {
      if (first === undefined) return;
      names.delete(first);
      events.push({ kind: 'unlink', path: first });
    } else if (call.startsWith('rename')) {
      if (first === undefined || second === undefined) return;
      const file = names.get(first)!;
      names.delete(first);
      names.set(second, file);
      events.push({ kind: 'unlink', path: first }, { kind: 'link', path: second, file, isFolder: false });
    } else throw new Error(`the trace has a call that is not understood: ${call}`);
  };
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const resumed = /^(\d+) +<\.\.\. (\w+) resumed>(.*)$/.exec(line);
    const begun = open.get(resumed?.[1] ?? '');
    const whole = resumed ? (begun ? begun.text + resumed[3]! : '') : line.replace(/^\d+ +/, '');
    const process = /^\d+/.exec(line)?.[0] ?? '';
    if (whole.endsWith('<unfinished ...>')) {
      open.set(process, { text: whole.slice(0, -'<unfinished ...>'.length).trimEnd(), from: events.length });
      continue;
    }
    const call = /^(\w+)\((.*)\) += (\d+)/.exec(whole);
    if (call) take(call[1]!, call[2]!, Number(call[3]), resumed ? begun!.from : events.length);
  }
  return { events };
};

/** What the disk has of what was not synced. */
export type Cut =
  | { readonly keep: 'nothing' | 'all' }
  | { readonly keep: 'some'; readonly sectorBytes: number; readonly random: Random };

interface FileState {
  readonly isFolder: boolean;
  bytes: Buffer;
  pending: { readonly event: Event & { readonly kind: 'write' | 'truncate' }; readonly index: number }[];
}

/**
 * Writes the disk as it is when the power goes after the first `count` events. Answers with the lines that were said
 * until then.
 */
export const writeImage = ({ events }: Trace, count: number, cut: Cut, folder: string): readonly string[] => {
  const files = new Map<number, FileState>();
  const names = new Map<string, number>();
  const lines: string[] = [];
  let pendingNames: { readonly event: Event & { readonly kind: 'link' | 'unlink' }; readonly index: number }[] = [];
  for (let index = 0; index < count; index++) {
    const event = events[index]!;
    if (event.kind === 'said') lines.push(event.line);
    else if (event.kind === 'link' || event.kind === 'unlink') {
      if (event.kind === 'link' && !files.has(event.file))
        files.set(event.file, { isFolder: event.isFolder, bytes: Buffer.alloc(0), pending: [] });
      pendingNames.push({ event, index });
    } else if (event.kind === 'sync folder') {
      pendingNames = pendingNames.filter((pending) => {
        if (parentOf(pending.event.path) !== event.path || pending.index >= event.from) return true;
        applyName(names, pending.event);
        return false;
      });
    } else {
      const file = files.get(event.file)!;
      if (event.kind === 'sync') {
        for (const pending of file.pending) if (pending.index < event.from) apply(file, pending.event);
        file.pending = file.pending.filter((pending) => pending.index >= event.from);
      } else if (event.kind === 'write' && event.synced && index < count - 1) apply(file, event);
      else file.pending.push({ event, index });
    }
  }
  for (const { event } of pendingNames) if (keeps(cut)) applyName(names, event);
  for (const file of files.values())
    for (const { event } of file.pending) for (const part of partsOf(event, cut)) apply(file, part);
  mkdirSync(folder, { recursive: true });
  for (const [name, number] of [...names].sort((a, b) => (a[0] < b[0] ? -1 : 1))) {
    // What lies in a folder whose own name is lost is lost too.
    if (!hasFolders(names, files, name)) continue;
    const file = files.get(number)!;
    if (file.isFolder) mkdirSync(join(folder, name), { recursive: true });
    else writeFileSync(join(folder, name), file.bytes);
  }
  return lines;
};

const parentOf = (path: string): string => (dirname(path) === '.' ? '' : dirname(path));
const hasFolders = (
  names: ReadonlyMap<string, number>,
  files: ReadonlyMap<number, FileState>,
  name: string,
): boolean => {
  const parent = parentOf(name);
  if (parent === '') return true;
  const number = names.get(parent);
  return number !== undefined && files.get(number)!.isFolder && hasFolders(names, files, parent);
};
const applyName = (names: Map<string, number>, event: Event & { readonly kind: 'link' | 'unlink' }): void => {
  if (event.kind === 'link') names.set(event.path, event.file);
  else names.delete(event.path);
};
const apply = (file: FileState, event: Event & { readonly kind: 'write' | 'truncate' }): void => {
  if (event.kind === 'truncate') {
    file.bytes =
      event.size <= file.bytes.length
        ? file.bytes.subarray(0, event.size)
        : Buffer.concat([file.bytes, Buffer.alloc(event.size - file.bytes.length)]);
    return;
  }
  const end = event.offset + event.data.length;
  const bytes = Buffer.alloc(Math.max(end, file.bytes.length));
  file.bytes.copy(bytes);
  event.data.copy(bytes, event.offset);
  file.bytes = bytes;
};

const keeps = (cut: Cut): boolean => (cut.keep === 'some' ? cut.random.below(2) === 0 : cut.keep === 'all');
/** The sectors of a write that came to the disk. */
const partsOf = (
  event: Event & { readonly kind: 'write' | 'truncate' },
  cut: Cut,
): readonly (Event & { readonly kind: 'write' | 'truncate' })[] => {
  if (cut.keep !== 'some' || event.kind === 'truncate') return keeps(cut) ? [event] : [];
  // Whole, not at all, or torn.
  const how = cut.random.below(3);
  if (how < 2) return how === 0 ? [event] : [];
  const parts: (Event & { readonly kind: 'write' })[] = [];
  const { sectorBytes } = cut;
  for (let at = event.offset; at < event.offset + event.data.length; ) {
    const end = Math.min(event.offset + event.data.length, (Math.floor(at / sectorBytes) + 1) * sectorBytes);
    if (cut.random.below(2) === 0)
      parts.push({ ...event, offset: at, data: event.data.subarray(at - event.offset, end - event.offset) });
    at = end;
  }
  return parts;
};
