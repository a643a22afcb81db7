/**
 * Loki's push as JSON: `{"streams":[{"stream":{labels},"values":[["nanoseconds","line",{metadata}]]}]}`.
 *
 * The engine's own parser reads it: all that is kept of it are texts, which it leaves as they are.
 */
import { bytesToText } from '../../vectors/texts/codec.ts';
import { type LokiEntry, Labels, type Pairs } from './loki-entry.ts';
import { brokenMessage } from './whole-body.ts';

const broken = (fault: string, place?: string) => brokenMessage('loki', fault, place);

/** The lines of a body. @throws format-broken */
export function* jsonStreams(body: Uint8Array): Generator<LokiEntry> {
  const { streams } = recordOf(parsed(body), 'the body', '');
  for (const [s, stream] of listOf(streams, 'streams', '').entries()) {
    const place = `stream ${s + 1}`;
    const { stream: labels, values } = recordOf(stream, 'a stream', place);
    const own = new Labels(pairsOf(labels, 'stream', place));
    for (const [v, value] of listOf(values, 'values', place).entries())
      yield entryOf(value, own, `${place}, line ${v + 1}`);
  }
}

const parsed = (body: Uint8Array): unknown => {
  try {
    return JSON.parse(bytesToText(body));
  } catch (cause) {
    // What it says may have a piece of the body in it.
    throw broken(`no JSON: ${(cause as Error).message.slice(0, 100)}`);
  }
};

const entryOf = (value: unknown, labels: Labels, place: string): LokiEntry => {
  if (!Array.isArray(value) || value.length < 2 || value.length > 3)
    throw broken('expected [time, line] or [time, line, metadata]', place);
  const [time, line, metadata] = value as readonly unknown[];
  if (typeof time !== 'string' || !/^-?\d{1,19}$/.test(time))
    throw broken('expected the nanoseconds since 1970 as a string of digits', place);
  const nanos = BigInt(time);
  if (BigInt.asIntN(64, nanos) !== nanos) throw broken('time beyond 64 bits', place);
  if (typeof line !== 'string') throw broken('expected the line as a string', place);
  const rest = ((nanos % nanosPerSecond) + nanosPerSecond) % nanosPerSecond;
  return {
    labels,
    seconds: Number((nanos - rest) / nanosPerSecond),
    nanos: Number(rest),
    line: textOf(line),
    metadata: metadata === undefined ? [] : pairsOf(metadata, 'metadata', place),
  };
};
const nanosPerSecond = 1_000_000_000n;

const pairsOf = (value: unknown, what: string, place: string): Pairs =>
  Object.entries(recordOf(value, what, place)).map(([name, text]) => {
    if (typeof text !== 'string') throw broken(`${what}: expected strings`, place);
    return [textOf(name), textOf(text)] as const;
  });
/** Bytes that are no UTF-8 are escaped as surrogates (vectors/texts/codec.ts); others are replaced by the builder. */
const textOf = (text: string): string => text.normalize('NFC');

const recordOf = (value: unknown, what: string, place: string): Readonly<Record<string, unknown>> => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw broken(`${what}: expected an object`, place);
  return value as Readonly<Record<string, unknown>>;
};
const listOf = (value: unknown, what: string, place: string): readonly unknown[] => {
  if (!Array.isArray(value)) throw broken(`${what}: expected a list`, place);
  return value;
};
