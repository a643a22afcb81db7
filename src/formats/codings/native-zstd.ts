/** Zstandard of node:zlib, which Node 22.15 and later have; the types are those of Node 20. */
import type { Transform } from 'node:stream';
import * as zlib from 'node:zlib';

interface Options {
  readonly chunkSize?: number;
  readonly maxOutputLength?: number;
  readonly params?: Readonly<Record<number, number>>;
}
export interface NativeZstd {
  readonly createZstdCompress: (options: Options) => Transform;
  readonly createZstdDecompress: (options: Options) => Transform & { readonly bytesWritten: number };
  readonly zstdCompressSync: (input: Uint8Array, options: Options) => Uint8Array;
  readonly zstdDecompressSync: (input: Uint8Array, options: Options) => Uint8Array;
  readonly constants: Readonly<
    Record<'ZSTD_d_windowLogMax' | 'ZSTD_c_compressionLevel' | 'ZSTD_c_windowLog' | 'ZSTD_e_flush', number>
  >;
}

export const nativeZstd: NativeZstd | undefined =
  'zstdDecompressSync' in zlib ? (zlib as typeof zlib & NativeZstd) : undefined;
