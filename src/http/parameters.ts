/** Query and path parameters. */
import { LakeError } from '../errors.ts';
import type { Id } from '../lake/lake.types.ts';
import { parseId } from '../lake/ksuid.ts';

/** A boolean in the spellings that Go takes; absent and empty are false. @throws parameter-bool */
export const boolParameter = (text: string | undefined): boolean => {
  switch (text) {
    case undefined: case '': case '0': case 'f': case 'F': case 'FALSE': case 'false': case 'False': return false;
    case '1': case 't': case 'T': case 'TRUE': case 'true': case 'True': return true;
    default: throw new LakeError('parameter-bool', { value: text });
  }
};

/** One character of one byte; empty means the default. @throws csv-delimiter */
export const delimiterParameter = (text: string | undefined): string | undefined => {
  if (text === undefined || text === '') return undefined;
  if (Buffer.byteLength(text) !== 1) throw new LakeError('csv-delimiter');
  return text;
};

/** Hexadecimal digits of an id in either spelling. @throws id-invalid */
export const idOf = (text: string): Id => {
  const id = parseId(text);
  if (id === undefined) throw new LakeError('id-invalid', { id: text });
  return id;
};

/** The same for a path parameter. @throws path-id */
export const pathId = (name: string, text: string): Id => {
  const id = parseId(text);
  if (id === undefined) throw new LakeError('path-id', { name, id: text });
  return id;
};
