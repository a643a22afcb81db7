/**
 * Credentials for files as they come back with each request: what their token says, and the keys that they sign by. An
 * engine sends the same ones with each range of a file, and to read them takes longer than to check a signature.
 *
 * - Kept are those alone that were given out here, a bounded number of them, so that nobody fills it with what they made
 *   up. Whether they are still good is for the caller.
 */
import type { S3Credentials, Sealed, Seals } from './seals.ts';
import { type SigningScope, signingKeyOf } from '../../store/signature.ts';

/** Credentials that are remembered; those that were added first go first. */
const knownMax = 1000;
/** Of one: a day ends while it is used, and the region means nothing, so that a client may name any. */
const signingKeysMax = 4;

/** Credentials that were given out here. */
export interface Known {
  readonly accessKeyId: string;
  readonly said: Sealed;
  readonly signingKey: (scope: SigningScope) => Uint8Array;
}

export class KnownCredentials {
  private readonly seals: Seals;
  private readonly known = new Map<string, Known>();

  constructor(seals: Seals) {
    this.seals = seals;
  }

  /** Undefined for what nobody here has given out. */
  of(sessionToken: string): Known | undefined {
    const known = this.known.get(sessionToken);
    if (known) return known;
    const said = this.seals.open('files', sessionToken);
    if (!said) return undefined;
    const { accessKeyId, secretAccessKey } = this.seals.credentialsOf(sessionToken);
    const made = { accessKeyId, said, signingKey: signingKeys(secretAccessKey) };
    if (this.known.size >= knownMax) this.known.delete(this.known.keys().next().value!);
    this.known.set(sessionToken, made);
    return made;
  }
}

const signingKeys = (secretAccessKey: S3Credentials['secretAccessKey']): Known['signingKey'] => {
  const keys = new Map<string, Uint8Array>();
  return (scope) => {
    const name = `${scope.day}/${scope.region}/${scope.service}`;
    const known = keys.get(name);
    if (known) return known;
    const made = signingKeyOf(secretAccessKey, scope);
    if (keys.size >= signingKeysMax) keys.delete(keys.keys().next().value!);
    keys.set(name, made);
    return made;
  };
};
