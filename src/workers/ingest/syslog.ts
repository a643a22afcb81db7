/**
 * Messages of syslog become records, all with the same fields: `ts`, `received`, `from`, `format`, `facility`,
 * `severity`, `host`, `app`, `procid`, `msgid`, `data`, `message`.
 *
 * - `ts` is the message's own time, or when it came if it has none: pools are in order of it.
 * - No message is refused: what reads as nothing is a text. Structured data of ever new ids and names would be ever new
 *   types: beyond so many in a batch it is kept as the text that it was.
 */
import { type Builder, type Shape, shapeOf } from '../../vectors/builder.ts';
import { bytesToText } from '../../vectors/texts/codec.ts';
import { arrayType, types } from '../../vectors/type.ts';
import { gather } from './gathered.ts';
import type { DecodeContext, SyslogTold } from './ingest.types.ts';
import { type Framed, unframed } from './syslog-frames.ts';
import { type StructuredData, facilities, parseSyslog, severities } from './syslog-message.ts';
import { wholeMessage } from './whole-body.ts';

const names = [
  'ts',
  'received',
  'from',
  'format',
  'facility',
  'severity',
  'host',
  'app',
  'procid',
  'msgid',
  'data',
  'message',
] as const;
const shape = shapeOf(names.map((name) => ({ name })));
/** Shapes of structured data in a batch. */
const dataShapesMax = 100;
const texts = arrayType(types.string);

/** Reads framed messages. @throws format-limit */
export const decodeSyslog = async (
  input: AsyncIterable<Uint8Array>,
  { options, pool = 'syslog', emit }: DecodeContext,
): Promise<SyslogTold> => {
  const body = await wholeMessage(input, 'syslog', options);
  const shapes = new Map<string, Shape>();
  const messages = await gather(unframed(body), pool, { options, emit }, (message, builder) =>
    write(message, builder, shapes),
  );
  return { messages };
};
const write = ({ message: bytes, ms, address }: Framed, builder: Builder, shapes: Map<string, Shape>): number => {
  const found = parseSyslog(bytesToText(bytes).normalize('NFC'), ms);
  const record = builder.record(shape);
  const [ts, received, from, format, facility, severity, host, app, procid, msgid, data, message] =
    record.fields as readonly Builder[];
  const whole = Math.floor(ms / 1000);
  const rest = Math.round((ms - whole * 1000) * 1e6);
  if (found.seconds === null) ts!.seconds(types.time, whole, rest);
  else ts!.seconds(types.time, found.seconds, found.nanos);
  received!.seconds(types.time, whole, rest);
  from!.text(address);
  format!.text(found.format);
  facility!.text(facilities[found.priority >> 3]!);
  severity!.text(severities[found.priority & 7]!);
  textOrNull(host!, found.host);
  textOrNull(app!, found.app);
  textOrNull(procid!, found.procid);
  textOrNull(msgid!, found.msgid);
  if (found.data === null) data!.null();
  else writeData(found.data, data!, shapes);
  message!.text(found.message);
  record.end();
  return bytes.length;
};
const textOrNull = (builder: Builder, text: string | null): void => {
  if (text === null) builder.null();
  else builder.text(text);
};

/** A record of records; values of a name that comes twice are a list. */
const writeData = (data: StructuredData, builder: Builder, shapes: Map<string, Shape>): void => {
  const elements = data.map(({ id, parameters }) => {
    const values = new Map<string, readonly string[]>();
    for (const [name, value] of parameters) values.set(name, [...(values.get(name) ?? []), value]);
    return { id, values };
  });
  const key = JSON.stringify(
    elements.map(({ id, values }) => [id, [...values].map(([name, { length }]) => [name, length > 1])]),
  );
  if (!shapes.has(key)) {
    if (shapes.size === dataShapesMax) {
      builder.text(dataText(data));
      return;
    }
    shapes.set(key, shapeOf(elements.map(({ id }) => ({ name: id }))));
  }
  const outer = builder.record(shapes.get(key)!);
  elements.forEach(({ values }, k) => {
    const inner = outer.fields[k]!.record(shapeOf([...values.keys()].map((name) => ({ name }))));
    [...values.values()].forEach((all, n) => {
      const field = inner.fields[n]!;
      if (all.length === 1) return field.text(all[0]!);
      const list = field.list(texts);
      for (const text of all) list.items.text(text);
      list.end();
    });
    inner.end();
  });
  outer.end();
};
/** As it was sent. */
const dataText = (data: StructuredData): string =>
  data
    .map(
      ({ id, parameters }) =>
        `[${id}${parameters.map(([name, value]) => ` ${name}="${value.replaceAll(/["\\\]]/g, '\\$&')}"`).join('')}]`,
    )
    .join('');
