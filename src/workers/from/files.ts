/**
 * Files that `from` may read in a service: those whose real path is inside a listed folder.
 *
 * Invariants:
 * - A path is looked at only if it lies in a listed folder by its spelling; what it leads to is opened only if its real
 *   path does, too.
 * - What was opened is looked at again, so that a link that is changed in between leads nowhere.
 * - Only regular files are read, never devices, pipes or sockets.
 */
import { constants } from 'node:fs';
import { type FileHandle, open, readdir, readlink, realpath } from 'node:fs/promises';
import { isAbsolute, join, normalize, resolve as resolvePath, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LakeError, pathlessMessageOf } from '../../errors.ts';
import type { FromFolder } from './policy.ts';

const chunkBytes = 1 << 18;
/** Most files that one glob may name. */
const globFilesMax = 10_000;

/**
 * The real path of a file that a query names (relative names are tried in each folder), or undefined if there is none.
 * @throws from-file-refused
 */
export const findFile = async (name: string, folders: readonly FromFolder[]): Promise<string | undefined> => {
  const path = pathOf(name);
  if (path === undefined) throw new LakeError('from-file-refused', { path: name });
  const candidates = isAbsolute(path) ? [normalize(path)] : folders.map((f) => resolvePath(f.real, path));
  const near = candidates.filter((candidate) =>
    folders.some((f) => isInside(candidate, f.path) || isInside(candidate, f.real)),
  );
  if (near.length === 0) throw new LakeError('from-file-refused', { path: name });
  for (const candidate of near) {
    const real = await realpath(candidate).catch(() => undefined);
    if (real === undefined) continue;
    if (!isAllowed(real, folders)) throw new LakeError('from-file-refused', { path: name });
    return real;
  }
  return undefined;
};

/** Whether a name can only be meant as a file. */
export const looksLikePath = (name: string): boolean => name.includes('/') || /^file:/i.test(name);

/** The path that a name or `file:` URL stands for; undefined if it is no path of this machine. */
const pathOf = (name: string): string | undefined => {
  if (name.includes('\0')) return undefined;
  if (!/^file:/i.test(name)) return name;
  try {
    return fileURLToPath(name);
  } catch {
    return undefined;
  }
};

const isInside = (path: string, folder: string): boolean =>
  path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
const isAllowed = (real: string, folders: readonly FromFolder[]): boolean =>
  folders.some((f) => isInside(real, f.real));

/**
 * Paths of the files that a glob matches (`*` stands for any run of characters but a slash); a link counts only if it
 * stays inside. @throws from-file-refused, from-file-many
 */
export const expandGlob = async (
  pattern: string,
  folders: readonly FromFolder[],
  filesMax = globFilesMax,
): Promise<readonly string[]> => {
  if (pattern.split('/').includes('..')) throw new LakeError('from-file-refused', { path: pattern });
  const found: string[] = [];
  for (const folder of folders) {
    const inner = !isAbsolute(pattern)
      ? pattern
      : [folder.path, folder.real].filter((f) => isInside(pattern, f)).map((f) => pattern.slice(f.length + 1))[0];
    const parts = inner?.split('/').filter((part) => part !== '' && part !== '.') ?? [];
    for await (const path of matching(folder.real, parts, folders)) {
      if (found.push(path) > filesMax) throw new LakeError('from-file-many', { pattern, limit: filesMax });
    }
  }
  return found;
};

async function* matching(
  folder: string,
  [part, ...rest]: readonly string[],
  folders: readonly FromFolder[],
): AsyncGenerator<string> {
  if (part === undefined) return;
  const matcher = new RegExp(`^${part.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`, 's');
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries.filter(({ name }) => matcher.test(name)).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    const real = entry.isSymbolicLink() ? await realpath(path).catch(() => undefined) : path;
    if (real === undefined || !isAllowed(real, folders)) continue;
    if (rest.length > 0) yield* matching(path, rest, folders);
    else if (!entry.isDirectory()) yield path;
  }
}

/** The bytes of a file of the folders. @throws from-file-refused, from-file-kind, source-directory, source-missing */
export async function* fileBytes(
  path: string,
  folders: readonly FromFolder[],
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  if (!isAllowed(await realpath(path).catch(() => path), folders)) throw new LakeError('from-file-refused', { path });
  // Opening a pipe for reading waits for a writer unless it is told not to.
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (cause: NodeJS.ErrnoException) => {
      throw new LakeError(
        'from-file-failed',
        { path, fault: cause.code === 'ENOENT' ? 'file does not exist' : pathlessMessageOf(cause) },
        { cause },
      );
    },
  );
  try {
    await checkOpened(handle, path, folders);
    for (;;) {
      signal?.throwIfAborted();
      const { bytesRead, buffer } = await handle.read(new Uint8Array(chunkBytes), 0, chunkBytes);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

/** What is open must be a regular file of the folders, whatever the path leads to by now. */
const checkOpened = async (handle: FileHandle, path: string, folders: readonly FromFolder[]): Promise<void> => {
  const stat = await handle.stat();
  if (stat.isDirectory()) throw new LakeError('source-directory', { path });
  if (!stat.isFile()) throw new LakeError('from-file-kind', { path });
  const opened =
    process.platform === 'linux' ? await readlink(`/proc/self/fd/${handle.fd}`).catch(() => undefined) : undefined;
  if (opened !== undefined) {
    if (!isAllowed(opened, folders)) throw new LakeError('from-file-refused', { path });
    return;
  }
  const again = await realpath(path);
  const other = await open(again, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const { dev, ino } = await other.stat().finally(() => other.close());
  if (!isAllowed(again, folders) || dev !== stat.dev || ino !== stat.ino)
    throw new LakeError('from-file-refused', { path });
};
