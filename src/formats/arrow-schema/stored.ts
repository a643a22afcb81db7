/** The Arrow schema that writers keep beside the one of a Parquet file, under the key `ARROW:schema`. */
import type { Column } from '../columns/types.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import { FlatTable } from './flat-read.ts';
import { continuation, headerCode } from './ipc.ts';
import { readSchema } from './schema-read.ts';

/** The key under which it is kept. */
export const storedSchemaKey = 'ARROW:schema';

/**
 * The columns of a stored schema: a message of Arrow's IPC format in base64. Undefined where it cannot be read: the file
 * has a schema of its own, by which its values are whole.
 */
export const storedSchema = (text: string): readonly Column[] | undefined => {
  const bytes = new Uint8Array(Buffer.from(text, 'base64'));
  if (bytes.length < headBytes) return undefined;
  const start = new DataView(bytes.buffer).getUint32(0, true) === continuation ? headBytes : headBytes / 2;
  try {
    const message = FlatTable.root(bytes.subarray(start));
    const schema = message.uint8(1) === headerCode.schema ? message.table(2) : undefined;
    // Of a type that is not known (Polars has integers of 128 bits) the file's own schema tells what is to be known.
    return schema && readSchema(schema, { kind: 'null' });
  } catch (problem) {
    if (problem instanceof BytesFault) return undefined;
    throw problem;
  }
};
/** The mark and the length of the message; streams before 0.15 have the length alone. */
const headBytes = 8;
