/**
 * One message of syslog: RFC 5424 where it reads so to its end, else RFC 3164, which is what most senders of that time
 * write; what is neither is a text, as RFC 3164 has it for relays (4.3.3): facility user, severity notice.
 *
 * Bytes that are no UTF-8 stay what they are (vectors/texts/codec.ts).
 */

/** What a message says. Null: it does not. Times are milliseconds since 1970 with nanoseconds of the second. */
export interface SyslogMessage {
  readonly format: 'rfc5424' | 'rfc3164' | 'other';
  readonly priority: number;
  readonly seconds: number | null;
  readonly nanos: number;
  readonly host: string | null;
  readonly app: string | null;
  readonly procid: string | null;
  readonly msgid: string | null;
  readonly data: StructuredData | null;
  readonly message: string;
}
/** Elements by their ids, each with its parameters in their order; a name may come twice. */
export type StructuredData = readonly { readonly id: string; readonly parameters: readonly Parameter[] }[];
type Parameter = readonly [name: string, value: string];

/** The words of the numbers, as RFC 5424 and syslog.h call them. */
export const facilities = [
  'kern',
  'user',
  'mail',
  'daemon',
  'auth',
  'syslog',
  'lpr',
  'news',
  'uucp',
  'cron',
  'authpriv',
  'ftp',
  'ntp',
  'audit',
  'alert',
  'clock',
  ...Array.from({ length: 8 }, (_, n) => `local${n}`),
] as const;
export const severities = ['emerg', 'alert', 'crit', 'err', 'warning', 'notice', 'info', 'debug'] as const;

const priorityDefault = 13;
const priorityMax = 191;

/** Reads a message; `nowMs`: when it came, by which a date without a year is understood. */
export const parseSyslog = (text: string, nowMs: number): SyslogMessage => {
  const priority = /^<(0|[1-9]\d{0,2})>/.exec(text);
  if (!priority || Number(priority[1]) > priorityMax) return plain(text, priorityDefault, 'other');
  const value = Number(priority[1]);
  const rest = text.slice(priority[0].length);
  return rfc5424(rest, value) ?? rfc3164(rest, value, nowMs) ?? plain(rest, value, 'rfc3164');
};
const plain = (message: string, priority: number, format: SyslogMessage['format']): SyslogMessage => ({
  format,
  priority,
  seconds: null,
  nanos: 0,
  host: null,
  app: null,
  procid: null,
  msgid: null,
  data: null,
  message,
});

/** VERSION, TIMESTAMP, HOSTNAME, APP-NAME, PROCID, MSGID, each of its length. */
const header5424 =
  /^1 (\S{1,64}) ([\x21-\x7e]{1,255}) ([\x21-\x7e]{1,48}) ([\x21-\x7e]{1,128}) ([\x21-\x7e]{1,32}) (?=[-[])/;
const rfc5424 = (text: string, priority: number): SyslogMessage | undefined => {
  const found = header5424.exec(text);
  if (!found) return undefined;
  const [head, stamp, host, app, procid, msgid] = found as unknown as readonly string[];
  const time = stamp === '-' ? { seconds: null, nanos: 0 } : timeOfStamp(stamp!);
  const structured = structuredOf(text, head!.length);
  if (!time || !structured) return undefined;
  const { data, end } = structured;
  if (end < text.length && text[end] !== ' ') return undefined;
  const message = text.slice(end + 1);
  return {
    format: 'rfc5424',
    priority,
    ...time,
    host: nil(host),
    app: nil(app),
    procid: nil(procid),
    msgid: nil(msgid),
    data,
    // The mark says that it is UTF-8, which all of it is here.
    message: message.startsWith('\ufeff') ? message.slice(1) : message,
  };
};
const nil = (text: string | undefined): string | null => (text === undefined || text === '-' ? null : text);

interface Instant {
  readonly seconds: number;
  readonly nanos: number;
}
const stamp = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$/;
const timeOfStamp = (text: string): Instant | undefined => {
  const found = stamp.exec(text);
  if (!found) return undefined;
  const [, year, month, day, hour, minute, second, fraction = '', sign, hours, minutes] = found;
  const seconds = utcSeconds(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
  );
  if (seconds === undefined || Number(hours ?? 0) > 23 || Number(minutes ?? 0) > 59) return undefined;
  const offset = sign === undefined ? 0 : (Number(hours) * 60 + Number(minutes)) * 60;
  const utc = seconds - (sign === '-' ? -offset : offset);
  const nanos = Number(fraction.padEnd(9, '0'));
  return isKept(utc, nanos) ? { seconds: utc, nanos } : undefined;
};
/** Nanoseconds since 1970 are kept in 64 bits: from 1677 to 2262. */
const isKept = (seconds: number, nanos: number): boolean => {
  const all = BigInt(seconds) * 1_000_000_000n + BigInt(nanos);
  return BigInt.asIntN(64, all) === all;
};
/** Undefined for a date that no calendar has. */
const utcSeconds = (
  ...[year, month, day, hour, minute, second]: readonly [number, number, number, number, number, number]
): number | undefined => {
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month, day);
  if (date.getUTCMonth() !== month || date.getUTCDate() !== day) return undefined;
  return date.getTime() / 1000 + hour * 3600 + minute * 60 + second;
};

/** SD-NAME: no space, =, ] or quote. */
const sdName = /[\x21\x23-\x3c\x3e-\x5c\x5e-\x7e]{1,32}/y;
/** A value: quotes, backslashes and closing brackets are escaped; a backslash before another character is itself. */
const sdValue = /"((?:[^"\\\]]|\\[^])*)"/y;
const structuredOf = (
  text: string,
  start: number,
): { readonly data: StructuredData | null; readonly end: number } | undefined => {
  if (text[start] === '-') return { data: null, end: start + 1 };
  const data: { readonly id: string; readonly parameters: Parameter[] }[] = [];
  let at = start;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found;
  };
  while (text[at] === '[') {
    at++;
    const id = take(sdName)?.[0];
    if (id === undefined || data.some((element) => element.id === id)) return undefined;
    const parameters: Parameter[] = [];
    while (text[at] === ' ') {
      at++;
      const name = take(sdName)?.[0];
      if (name === undefined || text[at] !== '=') return undefined;
      at++;
      const value = take(sdValue)?.[1];
      if (value === undefined) return undefined;
      parameters.push([name, value.replaceAll(/\\(["\\\]])/g, '$1')]);
    }
    if (text[at] !== ']') return undefined;
    at++;
    data.push({ id, parameters });
  }
  return { data, end: at };
};

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
/** The date of the RFC, with a year as some have it, or RFC 3339 as rsyslog forwards. */
const date3164 = /^([A-Z][a-z]{2}) ([ \d]\d) (?:(\d{4}) )?(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))? /;
const stamp3164 = /^(\d{4}-\S+) /;
const host3164 = /^([A-Za-z0-9._:-]{1,255}) (?=\S)/;
const tag3164 = /^([^\s:[\]]{1,64})(?:\[([^\]\s]{0,128})\])?: ?/;
const rfc3164 = (text: string, priority: number, nowMs: number): SyslogMessage | undefined => {
  const dated = date3164.exec(text);
  const stamped = dated ? undefined : stamp3164.exec(text);
  const time = dated ? timeOfDate(dated, nowMs) : stamped ? timeOfStamp(stamped[1]!) : undefined;
  if (!time) return undefined;
  let rest = text.slice((dated ?? stamped)![0].length);
  const host = host3164.exec(rest);
  // What ends in a colon is the tag of a program that names no host.
  const hasHost = host !== null && !host[1]!.endsWith(':');
  if (hasHost) rest = rest.slice(host[0].length);
  const tag = tag3164.exec(rest);
  return {
    ...plain(tag ? rest.slice(tag[0].length) : rest, priority, 'rfc3164'),
    ...time,
    host: hasHost ? host[1]! : null,
    app: tag?.[1] ?? null,
    procid: tag?.[2] ?? null,
  };
};
/** More than this ahead of the clock it was last year. */
const aheadSeconds = 2 * 86_400;
const timeOfDate = (found: RegExpExecArray, nowMs: number): Instant | undefined => {
  const [, name, day, year, hour, minute, second, fraction = ''] = found;
  const month = months.indexOf(name!);
  if (month < 0) return undefined;
  const secondsOf = (of: number): number | undefined =>
    utcSeconds(of, month, Number(day), Number(hour), Number(minute), Number(second));
  const nanos = Number(fraction.padEnd(9, '0'));
  if (year !== undefined) {
    const seconds = secondsOf(Number(year));
    return seconds === undefined || !isKept(seconds, nanos) ? undefined : { seconds, nanos };
  }
  const now = Math.floor(nowMs / 1000);
  const here = new Date(nowMs).getUTCFullYear();
  // The latest of these years that is not ahead; the 29th of February is in few of them.
  for (let of = here + 1; of >= here - 4; of--) {
    const seconds = secondsOf(of);
    if (seconds !== undefined && seconds <= now + aheadSeconds) return { seconds, nanos };
  }
  return undefined;
};
