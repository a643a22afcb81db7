/**
 * Looks into a file that is to be loaded: what it seems to hold, and the text around a fault that the service found in
 * it.
 */

const headBytes = 64 * 1024;
/** What a file's first bytes tell; of a compressed one they are expanded. */
export interface FileFacts {
  readonly gzip: boolean;
  /** It begins like one JSON array, which is one value to the service. */
  readonly isArray: boolean;
  /** Names of fields near its beginning, as far as they can be guessed. */
  readonly fields: readonly string[];
}

const isGzip = async (file: Blob): Promise<boolean> => {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  return first === 0x1f && second === 0x8b;
};
/** The file's bytes, expanded where they are compressed. */
const bytesOf = async (file: Blob): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> =>
  (await isGzip(file)) ? file.stream().pipeThrough(new DecompressionStream('gzip')) : file.stream();

/** Reads the file's beginning. */
export const lookInto = async (file: Blob & { readonly name: string }): Promise<FileFacts> => {
  const gzip = await isGzip(file);
  const head = new TextDecoder().decode(await take(await bytesOf(file), headBytes).catch(() => new Uint8Array()));
  const text = head.replace(/^\ufeff/, '').trimStart();
  return { gzip, isArray: text.startsWith('['), fields: fieldsOf(text, file.name.replace(/\.gz$/i, '')) };
};
const take = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>, max: number): Promise<Uint8Array<ArrayBuffer>> => {
  const reader = stream.getReader();
  const all = new Uint8Array(max);
  let length = 0;
  while (length < max) {
    const { value, done } = await reader.read();
    if (done) break;
    all.set(value.subarray(0, max - length), length);
    length += Math.min(value.length, max - length);
  }
  await reader.cancel().catch(() => undefined);
  return all.subarray(0, length);
};
const fieldsMax = 40;
const fieldsOf = (text: string, name: string): readonly string[] => {
  if (/^PAR1|^ARROW1/.test(text) || text.includes('\u0000')) return [];
  const found = new Set<string>();
  if (/\.(csv|tsv)$/i.test(name)) {
    const line = text.split(/\r?\n/, 1)[0] ?? '';
    for (const each of line.split(line.includes('\t') ? '\t' : ','))
      found.add(
        each
          .trim()
          .replace(/^"(.*)"$/, '$1')
          .replaceAll('""', '"'),
      );
  } else if (text.startsWith('#')) {
    for (const each of (/^#fields\t(.*)$/m.exec(text)?.[1] ?? '').split('\t')) found.add(each.split('.')[0]!);
  } else if (/^[[{|(]/.test(text)) {
    for (const [, quoted, bare] of text.matchAll(/[{,]\s*(?:"((?:[^"\\\n]|\\.)*)"|([A-Za-z_$][\w$]*))\s*:/g)) {
      if (found.size >= fieldsMax) break;
      try {
        found.add(bare ?? (JSON.parse(`"${quoted!}"`) as string));
      } catch {
        continue;
      }
    }
  }
  return [...found].filter((each) => each !== '' && each.length <= 100).slice(0, fieldsMax);
};

const timeNames = ['ts', 'time', 'timestamp', '@timestamp', 'date', 'datetime', 'created', 'created_at'];
/** The field that records are best kept in the order of. */
export const likelyKey = (fields: readonly string[]): string =>
  fields.find((f) => timeNames.includes(f.toLowerCase())) ??
  fields.find((f) => /time|date/i.test(f)) ??
  fields[0] ??
  'ts';

/**
 * One JSON array as its elements one after the other, for a service that takes any number of values: brackets and
 * commas of the outermost level become white space. No byte moves, so that places in the outcome are places in the
 * file.
 */
export const arrayElements = async (file: Blob): Promise<Blob> => {
  let depth = 0;
  let inString = false;
  let escaped = false;
  const turn = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform: (chunk, controller) => {
      const out = chunk.slice();
      for (let i = 0; i < out.length; i++) {
        const byte = out[i]!;
        if (inString) {
          if (escaped) escaped = false;
          else if (byte === 0x5c) escaped = true;
          else if (byte === 0x22) inString = false;
        } else if (byte === 0x22) inString = true;
        else if (byte === 0x5b || byte === 0x7b) {
          if (depth++ === 0 && byte === 0x5b) out[i] = 0x20;
        } else if (byte === 0x5d || byte === 0x7d) {
          if (--depth === 0 && byte === 0x5d) out[i] = 0x20;
        } else if (byte === 0x2c && depth === 1) out[i] = 0x0a;
      }
      controller.enqueue(out);
    },
  });
  return new Response((await bytesOf(file)).pipeThrough(turn)).blob();
};

/** Where an error text says that the fault is. Lines and columns count from 1, bytes from 0. */
interface FaultPlace {
  readonly line?: number;
  readonly column?: number;
  readonly byte?: number;
}
/** The place that an error text names; undefined if it names neither a line nor a byte. */
export const faultPlace = (error: string): FaultPlace | undefined => {
  const number = (re: RegExp): number | undefined => {
    const found = re.exec(error)?.[1];
    return found === undefined ? undefined : Number(found);
  };
  const line = number(/\bline (\d+)/);
  const column = number(/\bcolumn (\d+)/);
  // A byte's value is followed by how it is written.
  const byte = number(/\bbyte (\d+)\b(?! \(hex\))/);
  if (line === undefined && byte === undefined) return undefined;
  return {
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
    ...(byte !== undefined && { byte }),
  };
};

/** A line around a fault; `at`: the character of the fault in `text`. */
export interface FaultLine {
  readonly number: number | undefined;
  readonly text: string;
  readonly isFault: boolean;
  readonly at?: number;
}
const aroundBytes = 2000;
const lineMax = 160;
const linesAround = 2;

/** The lines around a place; undefined when they cannot be shown: the file is gone or no text. */
export const linesAt = async (file: Blob, place: FaultPlace): Promise<readonly FaultLine[] | undefined> => {
  try {
    return place.byte !== undefined
      ? await linesAtByte(file, place.byte, place)
      : await linesAtLine(file, place.line!, place.column);
  } catch {
    return undefined;
  }
};

const linesAtByte = async (
  file: Blob,
  byte: number,
  { line }: FaultPlace,
): Promise<readonly FaultLine[] | undefined> => {
  const start = Math.max(0, byte - aroundBytes);
  const bytes = (await isGzip(file))
    ? await slice(await bytesOf(file), start, byte + aroundBytes)
    : new Uint8Array(await file.slice(start, byte + aroundBytes).arrayBuffer());
  if (bytes.includes(0)) return undefined;
  const decoder = new TextDecoder();
  const before = decoder.decode(bytes.subarray(0, byte - start));
  const after = decoder.decode(bytes.subarray(byte - start));
  const above = before.split('\n');
  const below = after.split('\n');
  const prefix = above.pop()!;
  const rest = below.shift()!;
  const numbered = (by: number): number | undefined => (line === undefined ? undefined : line + by);
  // The first piece is the end of a line that begins before.
  const whole = start > 0 ? above.slice(1) : above;
  const shown = whole.slice(-linesAround);
  return [
    ...shown.map(
      (text, i): FaultLine => ({ number: numbered(i - shown.length), text: cut(text, 0).text, isFault: false }),
    ),
    { number: numbered(0), isFault: true, ...cut(prefix + rest.replace(/\r$/, ''), prefix.length) },
    ...(below.length <= linesAround && below.at(-1) === '' ? below.slice(0, -1) : below.slice(0, linesAround)).map(
      (text, i): FaultLine => ({ number: numbered(i + 1), text: cut(text, 0).text, isFault: false }),
    ),
  ];
};
const slice = async (
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  start: number,
  end: number,
): Promise<Uint8Array> => {
  const reader = stream.getReader();
  const out = new Uint8Array(end - start);
  let at = 0;
  let length = 0;
  while (at < end) {
    const { value, done } = await reader.read();
    if (done) break;
    const from = Math.max(0, start - at);
    const part = value.subarray(from, Math.max(from, end - at));
    out.set(part, length);
    length += part.length;
    at += value.length;
  }
  await reader.cancel().catch(() => undefined);
  return out.subarray(0, length);
};
const linesAtLine = async (
  file: Blob,
  line: number,
  column: number | undefined,
): Promise<readonly FaultLine[] | undefined> => {
  const reader = (await bytesOf(file)).getReader();
  const decoder = new TextDecoder();
  const found: FaultLine[] = [];
  let number = 1;
  let rest = '';
  for (let ended = false; !ended && number <= line + linesAround; ) {
    const { value, done } = await reader.read();
    ended = done;
    const pieces = (rest + (value ? decoder.decode(value, { stream: true }) : decoder.decode())).split('\n');
    // A line that has no end is only kept as far as it is shown.
    rest = done ? '' : pieces.pop()!.slice(0, 1_000_000);
    for (const text of pieces) {
      if (number >= line - linesAround && number <= line + linesAround) {
        if (text.includes('\u0000')) return undefined;
        const isFault = number === line;
        found.push({
          number,
          isFault,
          ...(isFault && column !== undefined ? cut(text.replace(/\r$/, ''), column - 1) : { text: cut(text, 0).text }),
        });
      }
      number++;
    }
  }
  await reader.cancel().catch(() => undefined);
  const last = found.at(-1);
  if (last && last.text === '' && !last.isFault) found.pop();
  return found.some((each) => each.isFault) ? found : undefined;
};
/** A long line is shown around the fault. */
const cut = (text: string, at: number): { readonly text: string; readonly at: number } => {
  const start = at > lineMax * 0.7 ? at - Math.floor(lineMax / 2) : 0;
  const shown = text.slice(start, start + lineMax);
  return {
    text: `${start > 0 ? '…' : ''}${shown}${start + lineMax < text.length ? '…' : ''}`,
    at: at - start + (start > 0 ? 1 : 0),
  };
};
