/** How pages are compressed. */
import { constants, gzipSync } from 'node:zlib';
import { nativeZstd } from '../codings/native-zstd.ts';
import { encodeSnappy } from '../codings/snappy.ts';

/** Compresses a page. */
export interface PageCodec {
  readonly name: 'SNAPPY' | 'GZIP' | 'ZSTD';
  readonly compress: (raw: Uint8Array) => Uint8Array;
}

export const snappyPages: PageCodec = { name: 'SNAPPY', compress: encodeSnappy };

/** The quickest level of either: more takes longer than it saves. */
const level = 1;
/**
 * A third smaller than snappy's: zstd where Node has it (22.15 and later). Elsewhere gzip is as small and takes half the
 * time of the zstd that is a package.
 */
export const smallPages: PageCodec = nativeZstd
  ? zstdOf(nativeZstd)
  : {
      name: 'GZIP',
      compress: (raw) => gzipSync(raw, { level, memLevel: constants.Z_MAX_MEMLEVEL }),
    };
function zstdOf({ zstdCompressSync, constants: codes }: NonNullable<typeof nativeZstd>): PageCodec {
  const params = { [codes.ZSTD_c_compressionLevel]: level };
  return { name: 'ZSTD', compress: (raw) => zstdCompressSync(raw, { params }) };
}
