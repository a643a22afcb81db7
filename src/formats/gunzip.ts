/** Undoes gzip where the first two bytes say so; anything else passes through. */
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { LakeError } from '../errors.ts';
import type { ReadOptions } from './format.types.ts';

/** @throws LakeError `format-broken` for damaged gzip, `format-limit` for more than `expandedBytesMax` bytes */
export async function* gunzipped(input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Uint8Array> {
  const source = input[Symbol.asyncIterator]();
  let head: Uint8Array = new Uint8Array(0), ended = false;
  try {
    while (head.length < 2 && !ended) {
      const { done, value } = await source.next();
      if (done) ended = true;
      else head = head.length === 0 ? value : new Uint8Array(Buffer.concat([head, value]));
    }
    const rest = following(head, source, () => { ended = true; });
    if (head[0] === 0x1f && head[1] === 0x8b) yield* expanded(rest, options.expandedBytesMax ?? Infinity);
    else yield* rest;
  } finally {
    if (!ended) await source.return?.();
  }
}

async function* following(head: Uint8Array, source: AsyncIterator<Uint8Array>, end: () => void): AsyncGenerator<Uint8Array> {
  if (head.length > 0) yield head;
  for (;;) {
    const { done, value } = await source.next();
    if (done) return end();
    if (value.length > 0) yield value;
  }
}

async function* expanded(input: AsyncIterable<Uint8Array>, bytesMax: number): AsyncGenerator<Uint8Array> {
  const source = Readable.from(input), gunzip = createGunzip({ chunkSize: 1 << 18 });
  let inputFault: unknown;
  source.on('error', (fault) => {
    inputFault = fault;
    gunzip.destroy(fault);
  });
  source.pipe(gunzip);
  let size = 0;
  try {
    for await (const chunk of gunzip as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > bytesMax) throw new LakeError('format-limit', { format: 'gzip', what: 'expanded input', limit: bytesMax, place: '' });
      yield chunk;
    }
  } catch (cause) {
    if (cause instanceof LakeError || cause === inputFault) throw cause;
    throw new LakeError('format-broken', { format: 'gzip', fault: cause instanceof Error ? cause.message : String(cause), place: '', values: 0 }, { cause });
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}
