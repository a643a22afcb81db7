/** Messages of syslog and their framing: the examples of RFC 5424, 3164 and 6587, and what senders really write. */
import { describe, expect, test } from 'vitest';
import { SyslogSplitter } from '../../src/http/syslog/framing.ts';
import { parseSyslog, type SyslogMessage } from '../../src/workers/ingest/syslog-message.ts';
import { randomOf, seedOf } from '../support/random.ts';

const count = Number(process.env['COUNT'] ?? 300);
const now = Date.UTC(2026, 10, 28, 12);
const of = (text: string, nowMs = now): Partial<SyslogMessage> & { readonly time?: string | null } => {
  const { format, priority, seconds, nanos, ...rest } = parseSyslog(text, nowMs);
  const told = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null));
  const time = seconds === null ? {} : { time: `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${nanos}` };
  return { format, priority, ...time, ...told };
};

describe('RFC 5424', () => {
  test.each(['9999-12-31T23:59:59Z', '0000-01-01T00:00:00Z', '2262-04-12T00:00:00Z'])(
    '%s, which 64 bits do not reach, is no time: the message keeps its text',
    (stamp) => {
      const text = `1 ${stamp} h a p m - far`;
      expect(of(`<13>${text}`)).toEqual({ format: 'rfc3164', priority: 13, message: text });
    },
  );
  test.each<[string, object]>([
    [
      "<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 - \ufeff'su root' failed for lonvick on /dev/pts/8",
      {
        priority: 34,
        time: '2003-10-11T22:14:15.3000000',
        host: 'mymachine.example.com',
        app: 'su',
        msgid: 'ID47',
        message: "'su root' failed for lonvick on /dev/pts/8",
      },
    ],
    [
      "<165>1 2003-08-24T05:14:15.000003-07:00 192.0.2.1 myproc 8710 - - %% It's time to make the do-nuts.",
      {
        priority: 165,
        time: '2003-08-24T12:14:15.3000',
        host: '192.0.2.1',
        app: 'myproc',
        procid: '8710',
        message: "%% It's time to make the do-nuts.",
      },
    ],
    [
      '<165>1 2003-10-11T22:14:15.003Z mymachine.example.com evntslog - ID47 [exampleSDID@32473 iut="3" eventSource="Application" eventID="1011"] \ufeffAn application event log entry...',
      {
        priority: 165,
        time: '2003-10-11T22:14:15.3000000',
        host: 'mymachine.example.com',
        app: 'evntslog',
        msgid: 'ID47',
        data: [
          {
            id: 'exampleSDID@32473',
            parameters: [
              ['iut', '3'],
              ['eventSource', 'Application'],
              ['eventID', '1011'],
            ],
          },
        ],
        message: 'An application event log entry...',
      },
    ],
    [
      '<165>1 2003-10-11T22:14:15.003Z mymachine.example.com evntslog - ID47 [exampleSDID@32473 iut="3"][examplePriority@32473 class="high"]',
      {
        priority: 165,
        time: '2003-10-11T22:14:15.3000000',
        host: 'mymachine.example.com',
        app: 'evntslog',
        msgid: 'ID47',
        data: [
          { id: 'exampleSDID@32473', parameters: [['iut', '3']] },
          { id: 'examplePriority@32473', parameters: [['class', 'high']] },
        ],
        message: '',
      },
    ],
    ['<0>1 - - - - - -', { priority: 0, message: '' }],
    [
      '<1>1 1985-04-12T23:20:50.52Z - - - - [e a="x\\"y\\\\z\\]" a="\\n" b=""]  two',
      {
        priority: 1,
        time: '1985-04-12T23:20:50.520000000',
        data: [
          {
            id: 'e',
            parameters: [
              ['a', 'x"y\\z]'],
              ['a', '\\n'],
              ['b', ''],
            ],
          },
        ],
        message: ' two',
      },
    ],
  ])('%s', (text, expected) => {
    expect(of(text)).toEqual({ format: 'rfc5424', ...expected });
  });
  test.each([
    ['a time that no calendar has', '<1>1 2003-02-30T00:00:00Z h a p m -'],
    ['a leap second, which the RFC forbids', '<1>1 2003-10-11T23:59:60Z h a p m -'],
    ['an element that does not end', '<1>1 - h a p m [x y="z"'],
    ['the same id twice', '<1>1 - h a p m [x][x]'],
    ['a space before the element, as in the RFC', '<1>1 - h a p m [ x y="z"] m'],
    ['text at once behind an element', '<1>1 - h a p m [x]m'],
    ['another version', '<1>2 - h a p m -'],
    ['a name that is too long', `<1>1 - h ${'a'.repeat(49)} p m -`],
  ])('%s: it stays a text', (_, text) => {
    expect(of(text)).toEqual({ format: 'rfc3164', priority: 1, message: text.slice(3) });
  });
});

describe('RFC 3164', () => {
  test.each<[string, object]>([
    [
      "<34>Oct 11 22:14:15 mymachine su: 'su root' failed for lonvick on /dev/pts/8",
      {
        priority: 34,
        time: '2026-10-11T22:14:15.0',
        host: 'mymachine',
        app: 'su',
        message: "'su root' failed for lonvick on /dev/pts/8",
      },
    ],
    ['Use the BFG!', { format: 'other', priority: 13, message: 'Use the BFG!' }],
    [
      '<13>Feb  5 17:32:18 10.0.0.99 Use the BFG!',
      { priority: 13, time: '2026-02-05T17:32:18.0', host: '10.0.0.99', message: 'Use the BFG!' },
    ],
    [
      "<165>Aug 24 05:34:00 CST 1987 mymachine myproc[10]: %% It's time",
      { priority: 165, time: '2026-08-24T05:34:00.0', host: 'CST', message: "1987 mymachine myproc[10]: %% It's time" },
    ],
    [
      '<0>1990 Oct 22 10:52:01 TZ-6 scapegoat.dmz.example.org 10.1.2.3 sched[0]: That',
      { priority: 0, message: '1990 Oct 22 10:52:01 TZ-6 scapegoat.dmz.example.org 10.1.2.3 sched[0]: That' },
    ],
    // Without a host; with a process id; as rsyslog forwards; with a year and fractions.
    ['<13>Nov 28 11:00:00 root: x', { priority: 13, time: '2026-11-28T11:00:00.0', app: 'root', message: 'x' }],
    [
      '<30>Nov 28 11:00:00 web-1 nginx[123]: GET /',
      { priority: 30, time: '2026-11-28T11:00:00.0', host: 'web-1', app: 'nginx', procid: '123', message: 'GET /' },
    ],
    [
      '<13>2026-11-28T12:00:00.123456+01:00 web-1 app: x',
      { priority: 13, time: '2026-11-28T11:00:00.123456000', host: 'web-1', app: 'app', message: 'x' },
    ],
    [
      '<189>Nov 28 2025 11:00:00.5 sw %SYS-5: x',
      { priority: 189, time: '2025-11-28T11:00:00.500000000', host: 'sw', app: '%SYS-5', message: 'x' },
    ],
    // A priority that is none.
    ['<192>x', { format: 'other', priority: 13, message: '<192>x' }],
    ['<013>x', { format: 'other', priority: 13, message: '<013>x' }],
    ['', { format: 'other', priority: 13, message: '' }],
  ])('%s', (text, expected) => {
    expect(of(text)).toEqual({ format: 'rfc3164', ...expected });
  });
  test('the year is the last one in which the day was', () => {
    const time = (text: string, nowMs: number): unknown => of(`<1>${text} h a: x`, nowMs).time;
    expect(time('Dec 31 23:59:59', Date.UTC(2026, 0, 1))).toBe('2025-12-31T23:59:59.0');
    expect(time('Jan  1 00:00:00', Date.UTC(2025, 11, 31, 23))).toBe('2026-01-01T00:00:00.0');
    expect(time('Feb 29 00:00:00', Date.UTC(2026, 5, 1))).toBe('2024-02-29T00:00:00.0');
  });
});

/** The messages of pieces of a connection, and what was dropped. */
const split = (pieces: readonly (string | Buffer)[], messageBytesMax = 20): readonly string[] => {
  const told: string[] = [];
  const splitter = new SyslogSplitter(messageBytesMax, {
    message: (bytes) => told.push(Buffer.from(bytes).toString('latin1')),
    dropped: (reason) => told.push(`(${reason})`),
  });
  for (const piece of pieces) splitter.push(Buffer.from(piece as string));
  splitter.end();
  return told;
};
describe('RFC 6587', () => {
  test.each<[string, string, readonly string[]]>([
    ['counts', '5 <1>ab6 <2>a\nb', ['<1>ab', '<2>a\nb']],
    ['newlines, the last one missing', '<1>a\r\n\n<2>b\0\n<3>c', ['<1>a', '<2>b', '<3>c']],
    ['both', '<1>a\n4 <2>b<3>c\n', ['<1>a', '<2>b', '<3>c']],
    ['a count that is none', '12x <1>\n0 <1>\n', ['12x <1>', '0 <1>']],
    ['a counted message that is cut', '9 <1>a', ['(cut)']],
    ['a count that is cut', '9', ['(cut)']],
    ['one that is too long by its count', `21 <1>${'x'.repeat(18)}4 <2>b`, ['(long)', '<2>b']],
    [
      'a line that begins with a number',
      '404 not found\n999999999 bytes\n<2>b\n',
      ['404 not found', '999999999 bytes', '<2>b'],
    ],
    ['a number alone on its line', '5\n5 \n<2>b\n', ['5', '5 ', '<2>b']],
    [
      'one that is too long without its end',
      `${'x'.repeat(50)}\n<2>b\n${'y'.repeat(30)}`,
      ['(long)', '<2>b', '(long)'],
    ],
  ])('%s', (_, bytes, expected) => {
    expect(split([bytes])).toEqual(expected);
    expect(split([...bytes])).toEqual(expected);
  });
  test(`${count} connections: what they tell does not hang on how their bytes come`, { timeout: 600_000 }, () => {
    const seed = seedOf(31);
    const random = randomOf(seed);
    const parts = [
      '5 <1>ab',
      '<2>c\n',
      '\n',
      '3 ',
      '12',
      ' ',
      '\0',
      '<',
      '9999999999 ',
      'x'.repeat(25),
      '\xff',
      '1 a',
      '0 ',
    ];
    for (let k = 0; k < count; k++) {
      const bytes = Buffer.from(Array.from({ length: random.below(12) }, () => random.pick(parts)).join(''), 'latin1');
      const pieces: Buffer[] = [];
      for (let at = 0; at < bytes.length; ) {
        const end = Math.min(bytes.length, at + 1 + random.below(6));
        pieces.push(bytes.subarray(at, end));
        at = end;
      }
      expect(split(pieces), `SEED=${seed}: ${JSON.stringify(bytes.toString('latin1'))}`).toEqual(split([bytes]));
    }
  });
});
