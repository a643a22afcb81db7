/**
 * Part `times`: texts and numbers of all centuries and sizes, through every conversion to a time: `?time=` of
 * JSON and CSV, bulk, HEC, OTLP, Loki, syslog. What 64 bits of nanoseconds hold is that time, to the nanosecond; all else
 * stays as it came, or is refused. The model counts in whole numbers of any size.
 */
import { type AddressInfo, connect, createServer } from 'node:net';
import { startBuiltService } from '../../support/service/built.ts';
import { type Client, clientOf, jsonType } from '../../support/service/client.ts';
import { type Random, randomOf } from '../../support/random.ts';
import type { PartRun } from '../part.ts';

const timesPerSeed = 60;
const second = 1_000_000_000n;
const most = 2n ** 63n - 1n;
const isKept = (nanos: bigint): boolean => nanos <= most && nanos >= -most - 1n;

/** `nanos`: what it is; undefined: no time. */
interface Sample {
  readonly text: string;
  readonly nanos: bigint;
}
const two = (n: number): string => String(n).padStart(2, '0');
const years = [0, 1, 1582, 1676, 1677, 1678, 1900, 1969, 1970, 2026, 2261, 2262, 2263, 5000, 9999];
/** A text of RFC 3339, as often as not at the edge of what is kept. */
const someText = (random: Random): Sample => {
  const year = random.below(2) === 0 ? random.pick(years) : random.below(10_000);
  const isEdge = random.below(3) === 0;
  const [month, day, hour, minute, sec] = isEdge
    ? ([4, 11, 23, 47, 14 + random.below(5)] as const)
    : ([1 + random.below(12), 1 + random.below(28), random.below(24), random.below(60), random.below(60)] as const);
  const digits = isEdge ? '854775807'.slice(0, random.below(10)) : random.hex(30).replace(/\D/g, '').slice(0, 9);
  const offset = random.below(3) === 0 ? (random.below(2 * 839) - 839) * 60 : 0;
  const at = new Date(0);
  at.setUTCFullYear(year, month - 1, day);
  at.setUTCHours(hour, minute, sec);
  const zone =
    offset === 0
      ? 'Z'
      : `${offset < 0 ? '-' : '+'}${two(Math.floor(Math.abs(offset) / 3600))}:${two((Math.abs(offset) % 3600) / 60)}`;
  const text = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:${two(sec)}${digits === '' ? '' : `.${digits}`}${zone}`;
  const seconds = BigInt(at.getTime() / 1000 - offset);
  return { text, nanos: seconds * second + BigInt(digits.padEnd(9, '0')) };
};
/** A whole number, which counts in what its size says. */
const someNumber = (random: Random): Sample => {
  const size = random.below(22);
  const digits =
    size === 19 ? '9223372036854775807' : (random.hex(60).replace(/\D/g, '') + '1'.repeat(25)).slice(0, 1 + size);
  const count = BigInt(digits);
  const unit = count < 10n ** 11n ? second : count < 10n ** 14n ? 1_000_000n : count < 10n ** 17n ? 1000n : 1n;
  const sign = random.below(3) === 0 && count > 0n ? '-' : '';
  return { text: `${sign}${count}`, nanos: (sign === '' ? count : -count) * unit };
};

/** A time as SUP prints it. */
const printed = (nanos: bigint): string => {
  const rest = ((nanos % second) + second) % second;
  const at = new Date(Number((nanos - rest) / 1_000_000n)).toISOString().slice(0, 19);
  return `${at}${rest === 0n ? '' : `.${String(rest).padStart(9, '0').replace(/0+$/, '')}`}Z`;
};
const kept = ({ text, nanos }: Sample, other: string = JSON.stringify(text)): string =>
  isKept(nanos) ? printed(nanos) : other;

/** Sends samples by one door; answers the rows' times in order, as SUP prints them, beside those that are wanted. */
type Door = (tools: {
  readonly client: Client;
  readonly pool: string;
  readonly syslogPort: number;
  readonly samples: readonly Sample[];
  readonly numbers: readonly Sample[];
}) => Promise<{ readonly wanted: readonly string[]; readonly query: string }>;

const must = async (client: Client, path: string, type: string, body: string, status = 200): Promise<void> => {
  const answer = await client.ask('POST', path, { headers: { 'content-type': type }, body });
  if (answer.status !== status) throw new Error(`${path}: ${answer.status} ${answer.body.slice(0, 300)}`);
};
const lines = (values: readonly unknown[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('');
const all = ({ samples, numbers }: { readonly samples: readonly Sample[]; readonly numbers: readonly Sample[] }) => [
  ...samples,
  ...numbers,
];

const doors: Readonly<Record<string, Door>> = {
  json: async (tools) => {
    const { client, pool } = tools;
    await client.createPool(pool, 'i');
    await must(
      client,
      `/pool/${pool}/branch/main?time=t`,
      jsonType['content-type'],
      lines(all(tools).map(({ text: t }, i) => ({ i, t }))),
    );
    return { wanted: all(tools).map((one) => kept(one)), query: `from ${pool} | sort i | values t` };
  },
  csv: async ({ client, pool, samples }) => {
    await client.createPool(pool, 'i');
    await must(
      client,
      `/pool/${pool}/branch/main?time=t`,
      'text/csv',
      `i,t\n${samples.map(({ text }, i) => `${i},${text}\n`).join('')}`,
    );
    return { wanted: samples.map((one) => kept(one)), query: `from ${pool} | sort i | values t` };
  },
  bulk: async (tools) => {
    const { client, pool } = tools;
    const body = all(tools).flatMap(({ text }, i) => [{ index: { _index: pool } }, { '@timestamp': text, i }]);
    await must(client, '/_bulk', 'application/x-ndjson', lines(body));
    return { wanted: all(tools).map((one) => kept(one)), query: `from ${pool} | sort i | values this["@timestamp"]` };
  },
  hec: async (tools) => {
    const { client, pool } = tools;
    await must(
      client,
      '/services/collector/event',
      'application/json',
      lines(all(tools).map(({ text: time }, i) => ({ time, index: pool, event: { i } }))),
    );
    return { wanted: all(tools).map((one) => kept(one)), query: `from ${pool} | sort event.i | values time` };
  },
  otlp: async ({ client, pool, numbers }) => {
    const own = numbers
      .map(({ text }) => text.replace('-', ''))
      .filter((text) => BigInt(text) < 2n ** 64n && BigInt(text) > 0n);
    const logRecords = own.map((timeUnixNano, i) => ({
      timeUnixNano,
      severityNumber: 1 + (i % 24),
      body: { intValue: i },
    }));
    const answer = await client.ask('POST', '/v1/logs', {
      headers: { ...jsonType, 'x-lake-pool': pool },
      body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
    });
    if (answer.status !== 200) throw new Error(`/v1/logs: ${answer.status} ${answer.body.slice(0, 300)}`);
    // What is counted is nanoseconds here; what they do not hold counts in what its size says, as everywhere.
    return {
      wanted: own.map((text) => kept({ text, nanos: BigInt(text) }, `${text}::uint64`)),
      query: `from ${pool} | sort body | values ts`,
    };
  },
  loki: async ({ client, pool, numbers }) => {
    const own = numbers.filter(({ text }) => isKept(BigInt(text)));
    const values = own.map(({ text }, i) => [text, two(i).padStart(4, '0')]);
    await must(
      client,
      `/loki/api/v1/push?pool=${pool}`,
      'application/json',
      JSON.stringify({ streams: [{ stream: { a: 'b' }, values }] }),
      204,
    );
    for (const { text } of numbers.filter((one) => !own.includes(one)))
      await must(
        client,
        `/loki/api/v1/push?pool=${pool}`,
        'application/json',
        JSON.stringify({ streams: [{ stream: {}, values: [[text, 'x']] }] }),
        400,
      );
    return { wanted: own.map(({ text }) => printed(BigInt(text))), query: `from ${pool} | sort line | values ts` };
  },
  syslog: async ({ client, pool, syslogPort, samples }) => {
    const socket = connect(syslogPort, '127.0.0.1');
    socket.end(samples.map(({ text }, i) => `<13>1 ${text} - ${pool} - - - ${two(i).padStart(4, '0')}\n`).join(''));
    await new Promise((resolve) => socket.resume().on('close', resolve));
    const from = `from syslog | where app=="${pool}" or message like "%${pool}%"`;
    for (const end = Date.now() + 60_000; Date.now() < end; ) {
      const pools = await client.query<{ name: string }>('from :pools');
      if (
        pools.some(({ name }) => name === 'syslog') &&
        (await client.query<number>(`${from} | count()`))[0] === samples.length
      )
        break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    // A stamp that is none is a part of the text, and the time is that of the arrival.
    return {
      wanted: samples.map(({ nanos }) => (isKept(nanos) ? printed(nanos) : '"received"')),
      query: `${from} | sort message[-4:] | values ts == received ? "received" : ts`,
    };
  },
};

export const times: PartRun = async ({ seeds, count, failed }) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port: syslogPort } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const service = await startBuiltService({
    flags: ['-workers', '1', '-syslog', `127.0.0.1:${syslogPort}`, '-syslog.delay', '20ms'],
  });
  const client = clientOf(service.address, 1);
  try {
    for (const seed of seeds) {
      const random = randomOf(seed + 67);
      const samples = Array.from({ length: timesPerSeed }, () => someText(random));
      const numbers = Array.from({ length: timesPerSeed }, () => someNumber(random));
      for (const [name, door] of Object.entries(doors)) {
        const pool = `${name}${seed}x`;
        try {
          const { wanted, query } = await door({ client, pool, syslogPort, samples, numbers });
          const { body } = await client.ask('POST', '/query', {
            headers: { ...jsonType, accept: 'application/x-sup' },
            body: JSON.stringify({ query }),
          });
          const rows = body.trimEnd().split('\n');
          const wrong = wanted.findIndex((text, i) => text !== rows[i]);
          if (wrong >= 0 || rows.length !== wanted.length)
            failed(seed, `${name}: row ${wrong} of ${wanted.length} is ${rows[wrong]}, not ${wanted[wrong]}`);
          count('times', wanted.length);
        } catch (error) {
          failed(seed, `${name}: ${error instanceof Error ? error.message : String(error)}`);
        }
      }
      count('rounds');
    }
  } finally {
    client.close();
    await service.stop();
  }
};
