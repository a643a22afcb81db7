/** Puts content codings on bodies that go out. Each piece can be read as soon as it is there. */
import type { Zstd } from '@hpcc-js/wasm-zstd';
import type { Transform } from 'node:stream';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import { nativeZstd } from './native-zstd.ts';

/** Those that answers can have, best first: by size and time for rows of text, measured. */
export const answerCodings = ['br', 'gzip', 'zstd'] as const;
/** A content coding that answers can have. */
export type AnswerCoding = (typeof answerCodings)[number];

/** One body. Calls do not overlap; after `end` or `close` there are none. */
export interface Encoder {
  /** What the bytes have become, with everything that is needed to read them. */
  readonly encode: (bytes: Uint8Array) => Promise<Uint8Array>;
  /** The end of the body, after some last bytes. */
  readonly end: (bytes?: Uint8Array) => Promise<Uint8Array>;
  /** Gives back memory; needed unless `end` was called, harmless afterwards. */
  readonly close: () => void;
}

const levels = { gzip: 3, br: 3, zstd: 3 } as const;
/** A megabyte of history: more costs memory for each answer that is on its way. */
const windowBits = 20;

/** An encoder for one body. */
export const createEncoder = async (coding: AnswerCoding): Promise<Encoder> => {
  switch (coding) {
    case 'gzip':
      return zlibEncoder(createGzip({ level: levels.gzip }), constants.Z_SYNC_FLUSH);
    case 'br':
      return zlibEncoder(
        createBrotliCompress({
          params: { [constants.BROTLI_PARAM_QUALITY]: levels.br, [constants.BROTLI_PARAM_LGWIN]: windowBits },
        }),
        constants.BROTLI_OPERATION_FLUSH,
      );
    case 'zstd':
      return nativeZstd
        ? zlibEncoder(
            nativeZstd.createZstdCompress({
              params: {
                [nativeZstd.constants.ZSTD_c_compressionLevel]: levels.zstd,
                [nativeZstd.constants.ZSTD_c_windowLog]: windowBits,
              },
            }),
            nativeZstd.constants.ZSTD_e_flush,
          )
        : zstdEncoder(await loadZstd());
  }
};

type Flushed = Transform & { readonly flush: (kind: number, done: () => void) => void };

/** Streams of node:zlib work in threads of its own. */
const zlibEncoder = (stream: Transform, kind: number): Encoder => {
  let chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
  });
  const taken = (): Uint8Array => {
    const bytes = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
    chunks = [];
    return bytes;
  };
  const until = (begin: (done: () => void) => void): Promise<Uint8Array> =>
    new Promise((resolve, reject) => {
      const failed = (fault: unknown): void => {
        reject(fault as Error);
      };
      stream.once('error', failed);
      begin(() => {
        stream.off('error', failed);
        resolve(taken());
      });
    });
  return {
    encode: (bytes) =>
      until((done) => {
        stream.write(bytes);
        (stream as Flushed).flush(kind, done);
      }),
    end: (bytes) =>
      until((done) => {
        stream.once('end', done);
        stream.end(bytes);
      }),
    close: () => {
      stream.destroy();
    },
  };
};

/** Bytes of a frame: a reader needs that much memory, this thread is busy that long. */
const frameBytes = 256 << 10;

/** For Node before 22.15. A body is one frame after another: the package has one stream, which bodies cannot share. */
const zstdEncoder = (zstd: Zstd): Encoder => {
  const encode = (bytes: Uint8Array): Uint8Array => {
    const frames: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += frameBytes)
      frames.push(zstd.compress(bytes.subarray(at, at + frameBytes), levels.zstd));
    return frames.length === 1 ? frames[0] : Buffer.concat(frames);
  };
  return {
    encode: async (bytes) => encode(bytes),
    end: async (bytes) => (bytes ? encode(bytes) : new Uint8Array(0)),
    close: () => undefined,
  };
};

let loading: Promise<Zstd> | undefined;
/** Loaded when somebody asks for it: few do. */
const loadZstd = (): Promise<Zstd> => (loading ??= import('@hpcc-js/wasm-zstd').then((m) => m.Zstd.load()));
