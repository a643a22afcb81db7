/**
 * Small ones of the campaign's large bodies, with as little memory in proportion: each is read whole, or ends with the
 * error that names the limit.
 */
import { Readable } from 'node:stream';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { LakeError } from '../../../src/errors.ts';
import type { ContentCoding } from '../../../src/formats/codings/encoding.ts';
import { formatOfMediaType, openReader } from '../../../src/formats/formats.ts';
import { ReadMemory } from '../../../src/formats/read-memory.ts';
import { shownSize } from '../../../src/vectors/shown-size.ts';
import { TaskSpill } from '../../../src/workers/query/spill.ts';
import { largeBinaries } from '../../campaign/large/binaries.ts';
import { randomOf, seedOf } from '../../support/random.ts';

const limit = 2 << 20;
const size = 0.01;
const seed = seedOf(20);
const folder = mkdtempSync(join(tmpdir(), 'large-'));
const spill = new TaskSpill(folder);
afterAll(() => {
  spill.dispose();
  rmSync(folder, { recursive: true, force: true });
});

/** Notes what was held at most. */
class NotedMemory extends ReadMemory {
  most = 0;
  override hold(...of: Parameters<ReadMemory['hold']>): void {
    super.hold(...of);
    this.most = Math.max(this.most, this.bytes);
  }
}

describe(`seed ${seed}`, () => {
  test.each(Object.keys(largeBinaries))('%s: is read within its memory, or refused by it', async (name) => {
    const { type, coding, rows, chunks } = await largeBinaries[name]!(randomOf(seed), size);
    const memory = new NotedMemory(() => limit);
    const contentCodings = coding === undefined ? [] : [coding as ContentCoding];
    let read = 0;
    let refused: unknown;
    let longest = 0;
    try {
      for await (const batch of await openReader(formatOfMediaType(type)!.name, Readable.from(chunks()), {
        memory,
        contentCodings,
        valueBytesMax: limit,
        scratch: () => spill.scratchBytes(),
      })) {
        read += batch.length;
        if (batch.length > 1) longest = Math.max(longest, shownSize(batch));
      }
    } catch (problem) {
      refused = problem instanceof LakeError ? problem.code : problem;
    }
    expect(refused === undefined ? read : refused).toBeOneOf([rows, 'format-memory', 'format-limit']);
    // Each reader gives out batches of a few megabytes, unless one row is more.
    expect([memory.bytes, memory.most <= limit, longest < 24 << 20]).toEqual([0, true, true]);
  });
});
