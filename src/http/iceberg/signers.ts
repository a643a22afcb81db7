/** Who signed a request to the bucket. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { LakeError } from '../../errors.ts';
import type { Service } from '../route.ts';
import type { IcebergService } from './callers.ts';
import { checkSignature, checkTime, type Signature, signatureOf } from './signature.ts';
import type { Target } from './targets.ts';

/** A request to the bucket as it came. */
export interface Asked {
  readonly method: string;
  readonly target: Target;
  readonly query: ReadonlyMap<string, readonly string[]>;
  readonly headers: IncomingHttpHeaders;
}
/** What credentials are for: the table of a pool, for who had a key or token of the service. */
export interface Signer {
  readonly pool: string;
  readonly token: string | undefined;
}

/**
 * Undefined where nobody's signature is asked for: without access control, for who has no credentials of ours.
 * @throws s3-..
 */
export const signerOf = (
  { access }: Pick<Service, 'access'>,
  { credentials, clock, publicUrl }: IcebergService,
  { method, target, query, headers }: Asked,
): Signer | undefined => {
  const signature = signatureOf({ query, headers });
  if (!signature || !isOurs(signature)) {
    if (!access) return undefined;
    throw new LakeError(signature ? 's3-access-key-unknown' : 's3-unsigned');
  }
  const known = credentials.of(signature.sessionToken ?? '');
  const pool = known?.said.pool;
  if (!known || pool === undefined || known.accessKeyId !== signature.accessKeyId)
    throw new LakeError('s3-token-invalid');
  const signingKey = known.signingKey(signature);
  checkSignature({ method, path: target.path, query, headers }, signature, { signingKey, publicUrl });
  const nowMs = clock.wallMs();
  checkTime(signature, nowMs);
  const { token, expiresMs } = known.said;
  if (expiresMs <= nowMs) throw new LakeError('s3-token-expired');
  // Given out without access control: it stands for nobody.
  if (access && token === undefined) throw new LakeError('s3-token-invalid');
  return { pool, token };
};
/** Whether it is made with what was given out here, or says so. */
const isOurs = ({ accessKeyId, sessionToken }: Signature): boolean =>
  sessionToken !== undefined && /^LAKE[0-9A-F]{16}$/.test(accessKeyId);

/** Signers that were found before a request came to its handler. */
const noted = new WeakMap<IncomingMessage, { readonly signer: Signer | undefined }>();
export const noteSigner = (request: IncomingMessage, signer: Signer | undefined): void => {
  noted.set(request, { signer });
};
/** Undefined: nobody has looked. */
export const notedSigner = (request: IncomingMessage): { readonly signer: Signer | undefined } | undefined =>
  noted.get(request);
