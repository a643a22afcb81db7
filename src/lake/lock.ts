/**
 * Keeps a second server out of a lake, and tells whether the last one stopped cleanly.
 *
 * The lock is a Unix socket: it dies with its process, whatever way that ends. On Linux it is an abstract one, named by
 * the folder itself (device and inode), which stays the same whatever path leads to it (a rename, a bind mount);
 * elsewhere a socket file in the directory. Whoever finds it taken asks it who holds the lake. The mark of an unclean
 * stop is a file that a clean stop removes.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { LakeError, messageOf, codeOf, isDiskFull } from '../errors.ts';

/** The lock that this process holds. */
export interface Lock {
  /** The directory's real path. */
  readonly directory: string;
  /** The server before this one was not stopped, it died: what it said of itself. */
  readonly diedBefore: string | undefined;
  /** Ends the lock; `clean`: the tables were closed in order. */
  release(clean: boolean): Promise<void>;
}

const answerMsMax = 1000;

/**
 * Makes the directory if need be. `marks`: false leaves no mark of an unclean stop, and writes nothing. @throws
 * lake-locked
 */
export const lockLake = async (directory: string, owner: string, { marks = true } = {}): Promise<Lock> => {
  makeFolder(directory);
  const real = realOf(directory);
  const answer = `process ${process.pid}${owner ? `, ${owner}` : ''}`;
  // While it is open no other folder gets its inode.
  const folder = openSync(real, 'r');
  const server = await listen(real, socketAddress(real, folder), answer).catch((error: unknown) => {
    closeSync(folder);
    throw error;
  });
  const mark = join(real, 'running');
  const end = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => {
        closeSync(folder);
        resolve();
      });
    });
  let diedBefore: string | undefined;
  try {
    diedBefore = existsSync(mark) ? readFileSync(mark, 'utf8').trim() : undefined;
    if (marks) writeDurably(mark, `${answer}\n`);
  } catch (error) {
    await end();
    throw isDiskFull(error) ? error : unusable(real, error);
  }
  try {
    if (marks) for (const name of writtenFolders) checkWritable(join(real, name));
  } catch (error) {
    rmSync(mark, { force: true });
    await end();
    throw error;
  }
  return {
    directory: real,
    diedBefore,
    release: async (clean) => {
      try {
        if (clean) {
          rmSync(mark, { force: true });
          syncFolder(real);
        }
      } finally {
        await end();
      }
    },
  };
};

/** Folders of a lake that a service writes into; the one for spilled rows is made by each start. */
const writtenFolders = ['log', 'base', 'objects', 'tables'];
/**
 * Makes a file in a folder, if that is there, and removes it: else the first write would be what tells that none is
 * possible. A full disk is told by the service, which answers queries meanwhile.
 */
const checkWritable = (folder: string): void => {
  if (!existsSync(folder)) return;
  const probe = join(folder, '.writable');
  try {
    closeSync(openSync(probe, 'w'));
    rmSync(probe);
  } catch (error) {
    if (!isDiskFull(error)) throw unusable(folder, error);
  }
};

/**
 * A name that is no text in UTF-8 is known to the file system alone: what it has become here leads nowhere, the way
 * that was given does.
 */
const realOf = (directory: string): string => {
  const real = realpathSync.native(directory);
  return existsSync(real) ? real : resolve(directory);
};

/** Makes a folder whose name, and those of the folders above that had to be made, are durable. Gives those made, outermost first. */
export const makeFolder = (directory: string): readonly string[] => {
  const path = resolve(directory);
  // Node's own way to make all of them does not end in /proc, where a folder that is there takes none.
  const missing: string[] = [];
  for (let at = path; !existsSync(at); at = dirname(at)) missing.unshift(at);
  try {
    for (const folder of missing) makeOne(folder);
    if (missing.length === 0 && !statSync(path).isDirectory()) throw new Error('it is a file');
  } catch (error) {
    throw unusable(path, error);
  }
  for (const folder of missing.toReversed()) syncFolder(dirname(folder));
  return missing;
};
const unusable = (path: string, cause: unknown): Error =>
  new Error(`lake folder ${path} cannot be used: ${messageOf(cause)} (option -lake)`, { cause });
/** A folder in one that is there. Another process may make it at the same time. */
export const makeOne = (folder: string): void => {
  try {
    mkdirSync(folder);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
};

const socketAddress = (real: string, folder: number): string => {
  if (process.platform !== 'linux') return join(real, 'lock.sock');
  const { dev, ino } = fstatSync(folder, { bigint: true });
  return `\0lake-${dev}-${ino}`;
};

const listen = async (directory: string, address: string, answer: string): Promise<Server> => {
  for (let attempt = 1; ; attempt++) {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.end(answer);
    });
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(address, resolve);
      });
      server.unref();
      return server;
    } catch (error) {
      if (codeOf(error) !== 'EADDRINUSE') throw error;
      const owner = await askOwner(address);
      // A socket file whose process is gone: nobody answers.
      if (owner === undefined && attempt === 1 && !address.startsWith('\0')) rmSync(address, { force: true });
      else throw new LakeError('lake-locked', { directory, owner: owner ?? 'it does not answer' });
    }
  }
};

const askOwner = (address: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const socket = connect(address);
    let text = '';
    socket.setTimeout(answerMsMax, () => socket.destroy());
    socket.on('data', (chunk) => {
      text += chunk.toString('utf8');
    });
    socket.on('error', () => resolve(undefined));
    socket.on('close', () => resolve(text || undefined));
  });

/** Whether the file has other names: what is written to it in place is written to what they name (own-files.ts). */
export const isShared = (path: string): boolean => {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.isFile() && found.nlink > 1;
};
/** Where a file is made that replaces one with other names. */
export const besideShared = (path: string): string => `${path}.own`;

/** Writes a small file that is durable with its name. */
export const writeDurably = (path: string, bytes: string | Uint8Array): void => {
  const beside = besideShared(path);
  if (isShared(path)) {
    rmSync(beside, { force: true });
    writeFileSync(beside, bytes, { flush: true });
    renameSync(beside, path);
  } else writeFileSync(path, bytes, { flush: true });
  syncFolder(dirname(path));
};

/** Makes the folder's entries durable. */
export const syncFolder = (directory: string): void => {
  const fd = openSync(directory, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
};
