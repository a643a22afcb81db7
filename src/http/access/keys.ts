/**
 * API keys: `lake_ID_SECRET`. What is kept of one is the SHA-256 of its secret, which has 256 random bits: it cannot be
 * guessed, so a slow hash would gain nothing.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { grantText, type Grant, parseGrant, type Principal } from './roles.ts';

/** A key as it is kept. `grants` as in `parseGrant`. Times are RFC 3339. */
export interface KeyRecord {
  readonly id: string;
  readonly name: string;
  readonly sha256: string;
  readonly grants: readonly string[];
  readonly created: string;
  readonly expires?: string;
}
/** The keys of this moment. `onChange`: calls when there are other ones. */
export interface KeyRing {
  readonly find: (id: string) => KeyRecord | undefined;
  readonly onChange?: (listener: () => void) => void;
}

const idBytes = 6;
const secretBytes = 32;
const shape = /^lake_([0-9a-f]{12})_([0-9A-Za-z_-]{43})$/;
const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** A new key: `text` is shown once and kept nowhere. */
export const newKey = ({
  name,
  grants,
  expires,
}: {
  readonly name: string;
  readonly grants: readonly Grant[];
  readonly expires?: Date;
}): { readonly text: string; readonly record: KeyRecord } => {
  const id = randomBytes(idBytes).toString('hex');
  const secret = randomBytes(secretBytes).toString('base64url');
  return {
    text: `lake_${id}_${secret}`,
    record: {
      id,
      name,
      sha256: hashOf(secret).toString('hex'),
      grants: grants.map(grantText),
      created: new Date().toISOString(),
      ...(expires && { expires: expires.toISOString() }),
    },
  };
};

/** Whether a token has the form of a key. */
export const isKey = (token: string): boolean => shape.test(token);

/** Whose key it is; undefined if nobody's. */
export const keyPrincipal = (token: string, ring: KeyRing): Principal | undefined => {
  const [, id, secret] = shape.exec(token) ?? [];
  const record = id === undefined ? undefined : ring.find(id);
  if (!record || !timingSafeEqual(hashOf(secret), Buffer.from(record.sha256, 'hex'))) return undefined;
  const grants = record.grants.flatMap((text) => parseGrant(text) ?? []);
  return { name: record.name, grants, ...(record.expires !== undefined && { expiresMs: Date.parse(record.expires) }) };
};
