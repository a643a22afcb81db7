/** Query and path parameters: their schemas, and how they are read, in the words that clients know. */
import { Type } from 'typebox';
import { LakeError } from '../errors.ts';
import type { Id } from '../lake/lake.types.ts';
import { parseId } from '../lake/ksuid.ts';
import { idPattern, idText } from './schemas.ts';

/** The path parameter that names a pool. */
export const poolParameter = Type.String({ description: 'id or name of the pool', examples: ['movies'] });
/** The path parameter that names a branch. */
export const branchParameter = Type.String({ description: 'name of the branch', examples: ['main'] });
/** The path parameter that names a branch or a commit. */
export const revisionParameter = Type.String({ description: 'branch name or commit id', examples: ['main'] });
/** The path parameter that names a commit, in either spelling of its id. */
export const commitParameter = { ...idText, description: 'id of the commit' };
/** Ids with commas between them; none means the default. */
export const idListPattern = `^(${idPattern}(,${idPattern})*)?$`;

/** A boolean in the spellings that Go takes; absent and empty are false. */
const booleans: ReadonlyMap<string, boolean> = new Map([
  ...['', '0', 'f', 'F', 'FALSE', 'false', 'False'].map((text) => [text, false] as const), ...['1', 't', 'T', 'TRUE', 'true', 'True'].map((text) => [text, true] as const),
]);
/** A query parameter that `boolParameter` reads. */
export const boolSchema = (description: string) => Type.Enum([...booleans.keys()], { description });
/** @throws parameter-bool */
export const boolParameter = (text: string | undefined): boolean => {
  const value = booleans.get(text ?? '');
  if (value === undefined) throw new LakeError('parameter-bool', { value: text! });
  return value;
};

/** The query parameter that `delimiterParameter` reads. */
export const delimiterSchema = Type.String({ pattern: '^[\\x00-\\x7F]?$', description: 'field delimiter of text/csv: one character of one byte; default a comma' });
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
