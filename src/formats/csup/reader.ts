/** Reads CSUP: object after object, each held as bytes while its columns are read. */
import { LakeError } from '../../errors.ts';
import { cutBySize, lean } from '../../vectors/shown-size.ts';
import { type Vector, valueAt } from '../../vectors/vector.ts';
import { ByteSource } from '../byte-source.ts';
import { type ReadOptions, type Reader, readLimits } from '../format.types.ts';
import { ReadMemory } from '../read-memory.ts';
import { batchBytesMax } from '../row-windows.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import { type ColumnCursor, ObjectColumns } from './columns.ts';
import { type Descriptor, descriptorOf } from './descriptors.ts';
import type { BsupParts } from './parts.ts';

/** Bytes of an object's header, and the two 32-bit words (little-endian) that it begins with. */
export const headerBytes = 28,
  magic = 0x5055_5343,
  version = 14;
/**
 * Longest object. The reference's limits are 100 MiB and 2 GiB for the two sections; its objects have 120,000 values.
 */
const objectBytesMax = 256 << 20;
const descriptorsMax = 200_000;
/** What descriptors take as objects, for each of their bytes. */
const metadataFactor = 10;
/** Most rows of an object, and cells that a batch should have. */
const objectRowsMax = 1 << 24;
const batchCells = 2_000_000;

interface Header {
  readonly metadata: number;
  readonly data: number;
  readonly root: number;
}

/** A reader of CSUP. It throws `format-broken`, `format-too-large`, after giving out what came before. */
export const csupReader =
  (bsup: BsupParts): Reader =>
  (input, options) =>
    readCsup(bsup, input, options);

async function* readCsup(
  bsup: BsupParts,
  input: AsyncIterable<Uint8Array>,
  options: ReadOptions,
): AsyncGenerator<Vector> {
  const source = new ByteSource(input, { memory: options.memory, format: 'csup', what: 'object' });
  const limit = options.csupObjectBytesMax ?? objectBytesMax;
  let offset = 0;
  let values = 0;
  const fault = (text: string, cause?: unknown): LakeError =>
    new LakeError('format-broken', { format: 'csup', fault: text, place: ` (byte ${offset})`, values }, { cause });
  try {
    if (!(await source.need(1))) throw fault('EOF');
    while (await source.need(1)) {
      offset = source.offset;
      const whole = await source.need(headerBytes);
      const header = headerOf(source);
      if (typeof header === 'string') throw fault(header);
      if (!whole || !header) throw fault('truncated input');
      const size = header.metadata + header.data;
      if (size > limit)
        throw new LakeError('format-too-large', {
          format: 'csup',
          fault: `object of ${size} bytes (limit ${limit}) (option -csup.object.max)`,
          place: ` (byte ${offset})`,
        });
      source.start += headerBytes;
      if (!(await source.need(size))) throw fault('truncated input');
      for await (const batch of readObject(
        bsup,
        source.bytes.subarray(source.start, source.start + size),
        header,
        options,
      )) {
        values += batch.length;
        yield batch;
      }
      source.start += size;
    }
  } catch (problem) {
    if (problem instanceof BytesFault) throw fault(problem.message, problem);
    if (problem instanceof LakeError && problem.parameters['format'] === 'bsup')
      throw fault(`metadata: ${String(problem.parameters['fault'])}`, problem);
    throw problem;
  } finally {
    await source.close();
  }
}

/** What speaks against CSUP in the first bytes of a stream, or undefined. */
export const probeCsup = async (chunks: AsyncIterable<Uint8Array>): Promise<string | undefined> => {
  const source = new ByteSource(chunks, { format: 'csup', what: 'object' });
  await source.need(headerBytes);
  const header = headerOf(source);
  await source.close();
  // The reference's words for streams, which it never finds to be CSUP.
  return header === undefined || header === 'invalid CSUP header'
    ? 'auto-detection requires seekable input'
    : undefined;
};

/** The header, what is wrong with it, or undefined if it is cut. */
const headerOf = ({ bytes, start, end }: ByteSource): Header | string | undefined => {
  const view = new DataView(bytes.buffer, bytes.byteOffset + start, end - start);
  if (view.byteLength < 4) return undefined;
  if (view.getUint32(0, true) !== magic) return 'invalid CSUP header';
  if (view.byteLength < headerBytes) return undefined;
  const found = view.getUint32(4, true);
  if (found !== version) return `CSUP version mismatch: expected ${version}, found ${found}`;
  return {
    metadata: Number(view.getBigUint64(8, true)),
    data: Number(view.getBigUint64(16, true)),
    root: view.getUint32(24, true),
  };
};

async function* readObject(
  bsup: BsupParts,
  bytes: Uint8Array,
  header: Header,
  options: ReadOptions,
): AsyncGenerator<Vector> {
  const { memory = new ReadMemory() } = options;
  let held = 0;
  const hold = (size: number): void => {
    memory.hold(size, { format: 'csup', what: 'object' });
    held += size;
  };
  try {
    hold(header.metadata * metadataFactor);
    yield* objectRows(bsup, bytes, header, { ...options, hold });
  } finally {
    memory.free(held);
  }
}
async function* objectRows(
  bsup: BsupParts,
  bytes: Uint8Array,
  { metadata, root }: Header,
  options: ReadOptions & { readonly hold: (bytes: number) => void },
): AsyncGenerator<Vector> {
  const { batchRows, nestingMax } = readLimits(options);
  const { memory, hold } = options;
  const descriptors = await descriptorsOf(bsup, bytes.subarray(0, metadata), options);
  const column = new ObjectColumns({
    descriptors,
    data: bytes.subarray(metadata),
    nestingMax,
    bsup,
    hold,
    room: () => memory?.room ?? Infinity,
    expandedBytesMax: options.csupObjectBytesMax ?? objectBytesMax,
  }).root(root);
  const length = lengthOf(descriptors, root);
  if (length > objectRowsMax) throw new BytesFault(`object of ${length} values (limit ${objectRowsMax})`);
  yield* batchesOf(
    column,
    length,
    Math.max(1, Math.min(batchRows, Math.floor((batchCells * length) / cellsOf(descriptors)))),
  );
}

function* batchesOf(column: Pick<ColumnCursor, 'next'>, length: number, rows: number): Generator<Vector> {
  for (let at = 0; at < length; at += rows)
    yield* cutBySize(lean(column.next(Math.min(rows, length - at))), { bytesMax: batchBytesMax, rowsMax: rows });
}

const descriptorsOf = async (
  bsup: BsupParts,
  bytes: Uint8Array,
  options: ReadOptions,
): Promise<readonly Descriptor[]> => {
  const out: Descriptor[] = [];
  const limits = { ...(options.nestingMax !== undefined && { nestingMax: options.nestingMax }), batchRows: 1_000 };
  for await (const batch of bsup.read(once(bytes), limits)) {
    if (out.length + batch.length > descriptorsMax)
      throw new BytesFault(`too many CSUP descriptors (limit ${descriptorsMax})`);
    for (let i = 0; i < batch.length; i++) out.push(descriptorOf(valueAt(batch, i)));
  }
  return out;
};
async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}

/** Rows of the column; names and errors have as many as what is in them. */
const lengthOf = (descriptors: readonly Descriptor[], root: number): number => {
  let id = root;
  for (let steps = 0; steps < descriptors.length; steps++) {
    const d = descriptors[id];
    if (!d) break;
    if ('count' in d) return d.count;
    id = d.values;
  }
  throw new BytesFault('malformed CSUP object: root without a count');
};
/** Values of all columns. */
const cellsOf = (descriptors: readonly Descriptor[]): number =>
  descriptors.reduce((n, d) => n + ('count' in d && d.kind !== 'Const' ? d.count : 0), 1);
