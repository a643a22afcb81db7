/**
 * The ways of running a query that must not change its answer: rules switched off, other sizes of batches, other forms
 * of vectors, rows out of stored objects.
 */
import type { EngineSettings } from '../../../src/commands/query.ts';
import type { ScanRequest } from '../../../src/exec/source.ts';
import { BlockScanner } from '../../../src/lake/scan/block.ts';
import type { ObjectSource } from '../../../src/lake/objects/copies.ts';
import { openObject, sourceOfBytes } from '../../../src/lake/objects/reader.ts';
import { ObjectWriter } from '../../../src/lake/objects/writer.ts';
import { rules } from '../../../src/query/rules/rules.ts';
import { type Vector, slice } from '../../../src/vectors/vector.ts';
import { type ForcedForm, forced, forcedForms } from './forced-forms.ts';
import { splitting } from './split-engine.ts';
import { sourceInBucket } from '../store/test-parts.ts';

/** Rows of the blocks of stored objects, and so of what zone maps speak of. */
const blockRows = 3;
const noKey = { first: new Uint8Array(0), last: new Uint8Array(0) };

/**
 * The rows written as data objects and read back as a pool's scan does: only the columns asked for, without blocks that
 * the pruner rules out.
 */
async function* stored(
  batches: AsyncIterable<Vector>,
  request: ScanRequest,
  sourceOf: (bytes: Uint8Array) => ObjectSource | Promise<ObjectSource>,
): AsyncGenerator<Vector> {
  for await (const batch of batches) {
    const chunks: Uint8Array[] = [];
    const writer = new ObjectWriter(
      (chunk) => {
        chunks.push(chunk.slice());
      },
      { rowsExpected: 1 << 20 },
    );
    for (let at = 0; at < batch.length; at += blockRows)
      writer.block(slice(batch, at, Math.min(at + blockRows, batch.length)), noKey);
    writer.finish();
    const reader = await openObject(await sourceOf(Buffer.concat(chunks)));
    const scanner = new BlockScanner(request);
    for (let block = 0; block < reader.blocks.length; block++) {
      if (request.pruner && !reader.mayMatch(block, request.pruner)) continue;
      const rows = await scanner.inOrder(reader, block);
      if (rows && rows.length > 0) yield rows;
    }
  }
}
const fromObjects: EngineSettings = {
  host: (usual) => ({
    ...usual,
    filters: () => true,
    scan: (source, request) => stored(usual.scan(source, request), request, (bytes) => sourceOfBytes('0', bytes)),
  }),
};
/** The same of a bucket, whose ranges are asked for. */
export const fromBucket: EngineSettings = {
  host: (usual) => ({
    ...usual,
    filters: () => true,
    scan: (source, request) => stored(usual.scan(source, request), request, sourceInBucket),
  }),
};
/** Every batch in this form, those of the sources and those between operators. */
const inForm = (form: ForcedForm): EngineSettings => ({
  reshape: (v) => forced(v, form),
});

/** By name. */
export const engineVariants: Readonly<Record<string, EngineSettings>> = {
  'no rules': { rulesOff: 'all' },
  ...Object.fromEntries(rules.map((r) => [`without ${r.name}`, { rulesOff: [r.name] }])),
  'batches of one': { batchRows: 1 },
  'batches of two': { batchRows: 2 },
  ...Object.fromEntries(
    forcedForms.map((form) => [form === 'halves' ? 'vectors in halves' : `${form} vectors`, inForm(form)]),
  ),
  'dictionary vectors in batches of two': { ...inForm('dictionary'), batchRows: 2 },
  'selected vectors without rules': { ...inForm('selected'), rulesOff: 'all' },
  spilled: { memoryBytesMax: 300, batchRows: 3 },
  split: { host: (usual) => splitting(usual, 4096) },
  'split and spilled': { host: (usual) => splitting(usual, 3), memoryBytesMax: 300, batchRows: 3 },
  'rows of objects': fromObjects,
  'rows of objects in batches of two': { ...fromObjects, batchRows: 2 },
  'rows of a bucket': fromBucket,
  'rows of objects, dynamic': { ...fromObjects, ...inForm('dynamic') },
};

/** What an operator says that cannot spill: no answer at all. */
export const isOverMemory = (error: string | undefined): boolean => error?.includes(' more than 300 bytes') === true;
