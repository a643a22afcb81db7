/** Content codings of HTTP bodies (RFC 9110, 8.4): their names, and undoing them in a stream. */
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { LakeError } from '../../errors.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import { type Expand, throughZlib } from './through-zlib.ts';
import { zstdExpanded } from './zstd.ts';
import { isSkippable, zstdMagic } from './zstd-frames.ts';

/** The codings that can be undone, by their names in HTTP. */
export const contentCodings = ['gzip', 'br', 'deflate', 'zstd'] as const;
/** A coding that can be undone. */
export type ContentCoding = (typeof contentCodings)[number];

/** Which codings are undone, and how far the bytes may expand. */
interface DecodeOptions {
  /** In the order in which they were applied. */
  readonly codings: readonly ContentCoding[];
  /** Most bytes that any of them may give. */
  readonly bytesMax: number;
  /** Called when bytes turn out to have a coding. */
  readonly found?: () => void;
  /** They are the beginning of an input: what its end cuts gives what it can. Default: that is damage. */
  readonly isCut?: boolean | undefined;
  /**
   * What is read from the bytes tells itself whether they are damaged: a body without its coding need not be text.
   * Default: false.
   */
  readonly isBinary?: boolean;
}

/**
 * The bytes without their codings. Codings with a magic number are undone where it is there: a plain body that claims
 * one is read as plain. Of a text format it has to begin as text: such formats would read rows from damaged bytes.
 * @throws LakeError `format-broken` for damage, `body-expanded` beyond the limit
 */
export const decoded = (
  input: AsyncIterable<Uint8Array>,
  { codings, bytesMax, isBinary = false, isCut, found }: DecodeOptions,
): AsyncIterable<Uint8Array> =>
  codings.reduceRight((bytes, coding) => undone(bytes, coding, { bytesMax, mustFit: !isBinary, isCut, found }), input);

/** The bytes without their gzip, whether it was announced or not. @throws as `decoded` */
export const gunzipped = (
  input: AsyncIterable<Uint8Array>,
  options: Pick<DecodeOptions, 'bytesMax' | 'isCut' | 'found'>,
): AsyncIterable<Uint8Array> => undone(input, 'gzip', { ...options, mustFit: false });

/** Bytes that tell whether a coding is there, and bytes by which plain text is told from it. */
const magicBytes = 4;
const headBytes = 8;
const isText = (bytes: Uint8Array): boolean =>
  bytes.every((byte) => (byte >= 0x20 && byte < 0x7f) || (byte >= 0x09 && byte <= 0x0d));

/** `mustFit`: bytes without the coding are text, else damaged. */
interface UndoOptions {
  readonly bytesMax: number;
  readonly mustFit: boolean;
  readonly isCut?: boolean | undefined;
  readonly found?: (() => void) | undefined;
}
async function* undone(
  input: AsyncIterable<Uint8Array>,
  coding: ContentCoding,
  { bytesMax, mustFit, isCut = false, found }: UndoOptions,
): AsyncGenerator<Uint8Array> {
  const source = input[Symbol.asyncIterator]();
  let head: Uint8Array = new Uint8Array(0);
  let ended = false;
  try {
    while (head.length < headBytes && !ended) {
      const { done, value } = await source.next();
      if (done) ended = true;
      else head = head.length === 0 ? value : new Uint8Array(Buffer.concat([head, value]));
    }
    const rest = following(head, source, () => {
      ended = true;
    });
    const open = openerOf(coding, head, isCut);
    if (!open && mustFit && !isText(head.subarray(0, headBytes))) {
      throw new LakeError('format-broken', {
        format: coding,
        fault: `the body does not begin as ${coding} does`,
        place: '',
        values: 0,
      });
    }
    if (open) found?.();
    if (open) yield* bounded(open(rest), coding, bytesMax);
    else yield* rest;
  } finally {
    if (!ended) await source.return?.();
  }
}

async function* following(
  head: Uint8Array,
  source: AsyncIterator<Uint8Array>,
  end: () => void,
): AsyncGenerator<Uint8Array> {
  if (head.length > 0) yield head;
  for (;;) {
    const { done, value } = await source.next();
    if (done) return end();
    if (value.length > 0) yield value;
  }
}

const chunkSize = 1 << 18;

/** What undoes the coding of bytes that begin so; undefined: they do not have it. */
const openerOf = (coding: ContentCoding, head: Uint8Array, isCut: boolean): Expand | undefined => {
  if (head.length === 0) return undefined;
  const options = { chunkSize, ...(isCut && { finishFlush: constants.Z_SYNC_FLUSH }) };
  switch (coding) {
    case 'gzip':
      return head[0] === 0x1f && head[1] === 0x8b ? throughZlib(() => createGunzip(options), true) : undefined;
    case 'zstd': {
      const magic = head.length < magicBytes ? 0 : Buffer.from(head.buffer, head.byteOffset).readUInt32LE();
      return magic === zstdMagic || isSkippable(magic) ? zstdExpanded : undefined;
    }
    // The name means zlib's wrapping, but programs have always sent bare deflate too.
    case 'deflate':
      return throughZlib(() =>
        (head[0] & 15) === 8 && (head[0] * 256 + head[1]) % 31 === 0
          ? createInflate(options)
          : createInflateRaw(options),
      );
    case 'br':
      return throughZlib(() =>
        createBrotliDecompress({
          chunkSize,
          flush: constants.BROTLI_OPERATION_PROCESS,
          ...(isCut && { finishFlush: constants.BROTLI_OPERATION_FLUSH }),
        }),
      );
  }
};

/** The longest time that messages to this thread wait for bytes that expand. */
const turnMsMax = 10;

async function* bounded(
  bytes: AsyncIterable<Uint8Array>,
  coding: ContentCoding,
  bytesMax: number,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  let turn = performance.now();
  try {
    for await (const chunk of bytes) {
      size += chunk.length;
      if (size > bytesMax) throw new LakeError('body-expanded', { coding, limit: bytesMax });
      yield chunk;
      if (performance.now() - turn < turnMsMax) continue;
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      turn = performance.now();
    }
  } catch (cause) {
    if (!(cause instanceof BytesFault)) throw cause;
    throw new LakeError(
      'format-broken',
      { format: coding, fault: cause.message.replace(/^zstd: /, ''), place: '', values: 0 },
      { cause },
    );
  }
}
