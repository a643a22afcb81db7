/**
 * Tokens that the service gives out and takes back without keeping them: what they say is encrypted and authenticated
 * (AES-256-GCM) by the secret of the lake.
 *
 * - A token of the catalogue stands for the key or token that was exchanged for it, one of the bucket for that and one
 *   table. Who holds it is asked for that key again at each request: what was revoked ends here too.
 * - Nobody can read or change a token, or use it as one of the other kind.
 * - The secret is kept with the lake, so that engines go on after a restart. Whoever learns it can read tokens that they
 *   caught, but makes none that let them in: for that they need a key.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';

/** Of the catalogue, or of files. */
type SealKind = 'catalogue' | 'files';
/** What a token says. */
export interface Sealed {
  /** The key or token that it stands for; absent without access control. */
  readonly token?: string;
  /** Files: of the table of this pool. */
  readonly pool?: string;
  /** Catalogue: of these tables alone; absent: of all that one may read. */
  readonly tables?: readonly string[];
  /** Milliseconds since 1970. */
  readonly expiresMs: number;
}

/** What S3 calls credentials. */
export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

const start = 'sealed_';
const nonceBytes = 12;
const tagBytes = 16;
/** So that no time is spent on what cannot be one. */
const tokenCharsMax = 32_768;

export class Seals {
  private readonly sealKey: Buffer;
  private readonly sign: Buffer;
  /** Tells secrets apart. */
  readonly id: string;

  /** `secret`: at least 32 random bytes. */
  constructor(secret: Uint8Array) {
    const derived = (use: string): Buffer => Buffer.from(hkdfSync('sha256', secret, '', `iceberg ${use}`, 32));
    this.sealKey = derived('seal');
    this.sign = derived('sign');
    this.id = derived('id').toString('hex').slice(0, 16);
  }

  seal(kind: SealKind, value: Sealed): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.sealKey, nonce).setAAD(Buffer.from(kind));
    const body = Buffer.concat([cipher.update(JSON.stringify(value)), cipher.final()]);
    return start + Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url');
  }
  /** Undefined for what nobody here has sealed as this kind. */
  open(kind: SealKind, text: string): Sealed | undefined {
    if (!isSealed(text) || text.length > tokenCharsMax) return undefined;
    const bytes = Buffer.from(text.slice(start.length), 'base64url');
    const end = bytes.length - tagBytes;
    if (end <= nonceBytes) return undefined;
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.sealKey, bytes.subarray(0, nonceBytes));
      decipher.setAAD(Buffer.from(kind)).setAuthTag(bytes.subarray(end));
      const body = Buffer.concat([decipher.update(bytes.subarray(nonceBytes, end)), decipher.final()]);
      return JSON.parse(body.toString()) as Sealed;
    } catch {
      return undefined;
    }
  }

  /** Credentials for files: the session token says all, the other two follow from it. */
  credentials(value: Sealed): S3Credentials {
    return this.credentialsOf(this.seal('files', value));
  }
  credentialsOf(sessionToken: string): S3Credentials {
    const id = createHash('sha256').update(sessionToken).digest('hex').slice(0, 16).toUpperCase();
    const secretAccessKey = createHmac('sha256', this.sign).update(sessionToken).digest('base64url');
    return { accessKeyId: `LAKE${id}`, secretAccessKey, sessionToken };
  }
}

/** Whether a token has the form of a sealed one. */
export const isSealed = (token: string): boolean => token.startsWith(start);
