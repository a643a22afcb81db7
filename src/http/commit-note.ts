/**
 * The commit message header: `SuperDB-Commit`, or `Zed-Commit` from older clients; JSON `{author,body,meta}` with keys
 * in any letter case.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { LakeError } from '../errors.ts';
import { jsonFault } from '../formats/json-fault.ts';
import type { CommitNote } from '../lake/lake.types.ts';
import { supText } from '../vectors/sup/print.ts';
import { parseSup } from '../vectors/sup/parse.ts';

/** The reference keeps `meta` on loads, deletes by filter and compactions alone; its clients rely on null elsewhere. */
export const withoutMeta = ({ author, body, terms }: CommitNote): CommitNote => ({
  ...(author && { author }),
  ...(body && { body }),
  ...(terms && { terms }),
});

/** What the client says about its commit. @throws commit-header, commit-meta */
export const commitNote = (headers: IncomingHttpHeaders): CommitNote => {
  const raw = headers['superdb-commit'] ?? headers['zed-commit'];
  if (raw === undefined) return {};
  const text = Buffer.from(Array.isArray(raw) ? raw[0] : raw, 'latin1').toString('utf8');
  if (text === '') return {};
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new LakeError('commit-header', { fault: jsonFault(text) ?? (cause as Error).message }, { cause });
  }
  if (json === null) return {};
  if (typeof json !== 'object' || Array.isArray(json))
    throw new LakeError('commit-header', {
      fault: `json: cannot unmarshal ${kindOf(json)} into Go value of type api.CommitMessage`,
    });
  const note: { author?: string; body?: string; meta?: string } = {};
  for (const [key, value] of Object.entries(json)) {
    const name = key.toLowerCase();
    if ((name !== 'author' && name !== 'body' && name !== 'meta') || value === null) continue;
    if (typeof value !== 'string') {
      throw new LakeError('commit-header', {
        fault: `json: cannot unmarshal ${kindOf(value)} into Go struct field CommitMessage.${name[0].toUpperCase()}${name.slice(1)} of type string`,
      });
    }
    note[name] = value;
  }
  return {
    ...(note.author && { author: note.author }),
    ...(note.body && { body: note.body }),
    ...(note.meta && { meta: metaText(note.meta) }),
  };
};

/** The first SUP value of the text, spelled again. */
const metaText = (text: string): string => {
  let value;
  try {
    value = parseSup(text);
  } catch (cause) {
    throw new LakeError('commit-meta', {}, { cause });
  }
  if (!value) throw new LakeError('commit-meta');
  return supText(value);
};

const kindOf = (json: unknown): string =>
  Array.isArray(json) ? 'array' : typeof json === 'boolean' ? 'bool' : (typeof json as string);
