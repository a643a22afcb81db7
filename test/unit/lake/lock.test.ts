import { mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { lockLake } from '../../../src/lake/lock.ts';
import { failure, temporaryDirectory } from './support.ts';

describe('the lock of a lake', () => {
  test('is one at a time, and tells who has it', async () => {
    const directory = await temporaryDirectory();
    const lock = await lockLake(directory, 'the first');
    expect(await failure(lockLake(directory, 'the second'))).toMatchObject({
      code: 'lake-locked',
      text: expect.stringContaining('the first') as unknown,
    });
    await lock.release(true);
    await (await lockLake(directory, 'the second')).release(true);
  });

  test('names the folder where its mark cannot be read or written', async () => {
    const directory = await temporaryDirectory();
    mkdirSync(join(directory, 'running'));
    await expect(lockLake(directory, 'the first')).rejects.toThrow(
      `lake folder ${directory} cannot be used: EISDIR: illegal operation on a directory, read (option -lake)`,
    );
    rmdirSync(join(directory, 'running'));
    await (await lockLake(directory, 'the first')).release(true);
  });

  test.each(['log', 'base', 'objects', 'tables'])('is refused where %s cannot be written', async (name) => {
    const directory = await temporaryDirectory();
    // A folder in which nobody can make a file.
    symlinkSync('/proc/self', join(directory, name));
    await expect(lockLake(directory, 'the first')).rejects.toThrow(
      `lake folder ${join(directory, name)} cannot be used: ENOENT: no such file or directory, open '${join(directory, name, '.writable')}' (option -lake)`,
    );
    rmSync(join(directory, name));
    mkdirSync(join(directory, name));
    const lock = await lockLake(directory, 'the first');
    expect(lock.diedBefore).toBe(undefined);
    expect(readdirSync(join(directory, name))).toEqual([]);
    await lock.release(true);
  });

  test('is that of the folder, whatever path leads to it', async () => {
    const directory = await temporaryDirectory();
    const lake = join(directory, 'a');
    const moved = join(directory, 'b');
    const linked = join(directory, 'c');
    const lock = await lockLake(lake, 'the first');
    renameSync(lake, moved);
    symlinkSync(moved, linked);
    for (const path of [moved, linked])
      expect(await failure(lockLake(path, 'the second'))).toMatchObject({
        code: 'lake-locked',
        text: expect.stringContaining('the first') as unknown,
      });
    // What is made at the old path is another lake.
    await (await lockLake(lake, 'the third')).release(true);
    await lock.release(false);
    await (await lockLake(moved, 'the second')).release(true);
  });

  test('is free again when its mark cannot be written', async () => {
    const directory = await temporaryDirectory();
    const mark = join(directory, 'running');
    mkdirSync(mark);
    await expect(lockLake(directory, 'x')).rejects.toThrow('EISDIR');
    rmdirSync(mark);
    await (await lockLake(directory, 'x')).release(true);
  });

  test('is free again when its mark cannot be removed, and the end counts as unclean', async () => {
    const directory = await temporaryDirectory();
    const mark = join(directory, 'running');
    const lock = await lockLake(directory, 'x');
    rmSync(mark);
    mkdirSync(mark);
    await expect(lock.release(true)).rejects.toThrow('Path is a directory');
    rmdirSync(mark);
    writeFileSync(mark, `process ${process.pid}, x\n`);
    const next = await lockLake(directory, 'y');
    expect(next.diedBefore).toBe(`process ${process.pid}, x`);
    await next.release(true);
  });

  test('that was left unclean is told to the next one, a clean one is not', async () => {
    const directory = await temporaryDirectory();
    expect(
      (await lockLake(directory, 'x').then(async (lock) => lock.release(false).then(() => lock))).diedBefore,
    ).toBeUndefined();
    const second = await lockLake(directory, 'y');
    expect(second.diedBefore).toBe(`process ${process.pid}, x`);
    await second.release(true);
    const third = await lockLake(directory, 'z');
    expect(third.diedBefore).toBeUndefined();
    await third.release(true);
  });
});
