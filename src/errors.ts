/**
 * Every error that the service can answer, by code. A row has the HTTP status, the kind that the error body names and the text;
 * `{name}` in a text stands for a parameter. Texts that clients know from the reference are kept to the letter.
 *
 * Bad values are no errors of this kind: they become error values in vectors. Our own mistakes end in an assert.
 */

export type ErrorKind =
  | 'invalid operation' | 'item does not exist' | 'conflict with pending operation' | 'missing authentication credentials' | 'other error'
  | 'gone' | 'precondition failed' | 'payload too large' | 'overloaded' | 'storage full';

interface ErrorRow { readonly status: number; readonly kind: ErrorKind; readonly text: string }

const bad = (text: string, status = 400): ErrorRow => ({ status, kind: 'invalid operation', text });
const absent = (text: string): ErrorRow => ({ status: 404, kind: 'item does not exist', text });
const conflict = (text: string): ErrorRow => ({ status: 409, kind: 'conflict with pending operation', text });
const internal = (text: string): ErrorRow => ({ status: 500, kind: 'other error', text });

export const errorTable = {
  // lake
  'pool-not-found': absent('{pool}: pool not found'),
  'pool-exists': conflict('{pool}: pool already exists'),
  'branch-not-found': absent('"{branch}": branch not found'),
  'branch-exists': conflict('{pool}/{branch}: branch already exists'),
  // query
  'query-invalid': bad('{text}'),
  // formats
  'format-unknown': bad('no such format: "{format}"'),
  // anything that nobody foresaw
  'internal': internal('{text}'),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof errorTable;
export type ErrorParameters = Readonly<Record<string, string | number>>;

/** A request that cannot be done: a row of the table with its parameters filled in. `details` goes into the error body as it is. */
export class LakeError extends Error {
  readonly code: ErrorCode;
  readonly parameters: ErrorParameters;
  readonly details: Readonly<Record<string, unknown>>;
  constructor(code: ErrorCode, parameters: ErrorParameters = {}, options: { readonly cause?: unknown; readonly details?: Readonly<Record<string, unknown>> } = {}) {
    super(errorTable[code].text.replace(/\{(\w+)\}/g, (whole, name: string) => (name in parameters ? String(parameters[name]) : whole)), { cause: options.cause });
    this.name = 'LakeError';
    this.code = code;
    this.parameters = parameters;
    this.details = options.details ?? {};
  }
  get status(): number { return errorTable[this.code].status; }
  get kind(): ErrorKind { return errorTable[this.code].kind; }
}
