/**
 * A request as a line for a shell (bash, zsh, and others with `$'...'`), to copy and run.
 *
 * What stands in it is printable ASCII: names are escaped in addresses, JSON escapes the rest, so that a name can
 * neither end its quotes nor show as something else.
 */

/** A request; of `json`, `body` and `file` one at most. */
export interface CurlRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Unescaped segments. */
  readonly path: readonly string[];
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is, in ASCII. */
  readonly body?: string;
  /** Name of a file whose bytes are sent. */
  readonly file?: string;
}

const plain = /^[A-Za-z0-9_@%+=:,./-]+$/;
/** A word of the shell: bare, in single quotes, or with escapes where it is not printable ASCII. */
export const shellWord = (text: string): string => {
  if (plain.test(text)) return text;
  if (/^[\x20-\x7e]*$/.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  const escaped = Array.from(new TextEncoder().encode(text), (b) =>
    b >= 0x20 && b < 0x7f && b !== 0x27 && b !== 0x5c ? String.fromCharCode(b) : `\\${b.toString(8).padStart(3, '0')}`,
  ).join('');
  return `$'${escaped}'`;
};
/** JSON in printable ASCII. */
export const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
/** A segment of a path, percent-encoded all but for what no one misreads. */
const segment = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

/** `guarded`: the service wants a token, which is left to a variable. */
export const curlLine = (base: string, request: CurlRequest, options: { readonly guarded?: boolean } = {}): string => {
  const { method, path, query = {}, headers = {}, json, body, file } = request;
  const search = Object.entries(query)
    .map(([name, value]) => `${segment(name)}=${segment(value)}`)
    .join('&');
  const address = `${base}/${path.map(segment).join('/')}${search && `?${search}`}`;
  const sends = json !== undefined || body !== undefined || file !== undefined;
  const words = ['curl', '-sS', ...((sends ? method === 'POST' : method === 'GET') ? [] : ['-X', method])];
  if (file !== undefined) words.push('-X', 'POST', '-T', '-');
  words.push(shellWord(address));
  if (options.guarded) words.push('-H', '"Authorization: Bearer $LAKE_TOKEN"');
  const all = {
    ...(json !== undefined && { 'Content-Type': 'application/json' }),
    Accept: 'application/json',
    ...headers,
  };
  for (const [name, value] of Object.entries(all)) words.push('-H', shellWord(`${name}: ${value}`));
  if (json !== undefined) words.push('-d', shellWord(asciiJson(json)));
  if (body !== undefined) words.push('-d', shellWord(body));
  if (file !== undefined) words.push('<', fileWord(file));
  return words.join(' ');
};
/** A name that is not taken for an option. */
const fileWord = (name: string): string => shellWord(name.startsWith('-') ? `./${name}` : name);
