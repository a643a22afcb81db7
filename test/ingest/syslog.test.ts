/** Syslog over real sockets: messages become records, and nothing that was read is lost at the end. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveCommand } from '../../src/commands/serve.ts';
import { lacksPython } from '../support/python.ts';
import { startService, type TestService } from '../support/service/server.ts';

let service: TestService;
const flags = ['-syslog', '127.0.0.1:0', '-syslog.delay', '50ms', '-syslog.message.max', '1KiB'];
beforeAll(async () => {
  service = await startService([...flags, '-syslog.pool', 'logs']);
});
afterAll(() => service.close());

const open = async (to: Pick<TestService, 'server'> = service): Promise<Socket> => {
  const socket = connect(to.server.syslog!.port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
};
const sendUdp = async (...messages: readonly string[]): Promise<void> => {
  const socket = createSocket('udp4');
  for (const message of messages)
    await new Promise<void>((resolve) => {
      socket.send(message, service.server.syslog!.port, '127.0.0.1', () => resolve());
    });
  socket.close();
};
const soon = (check: () => Promise<void>): Promise<void> => vi.waitFor(check, { timeout: 60_000, interval: 50 });
/** Rows without the times at which they came. */
const rows = async (where: string): Promise<string> =>
  service.query(`from logs | where ${where} | drop received | sort message`);

describe('messages become records', () => {
  test('by TCP, in both framings', async () => {
    const socket = await open();
    const counted =
      '<165>1 2003-10-11T22:14:15.003Z h evntslog 7 ID47 [origin ip="10.0.0.1" ip="10.0.0.2" software="x"][e@1] \ufeffé tcp one';
    socket.write(`${Buffer.byteLength(counted)} ${counted}<34>Oct 11 2003 22:14:15 m su[5]: tcp two\n`);
    socket.end();
    await soon(async () => {
      expect(await rows('message like "%tcp%"')).toBe(
        '{ts:2003-10-11T22:14:15Z,from:"127.0.0.1",format:"rfc3164",facility:"auth",severity:"crit",host:"m",app:"su",procid:"5",msgid:null,data:null,message:"tcp two"}\n' +
          '{ts:2003-10-11T22:14:15.003Z,from:"127.0.0.1",format:"rfc5424",facility:"local4",severity:"notice",host:"h",app:"evntslog",procid:"7",msgid:"ID47",data:{origin:{ip:["10.0.0.1","10.0.0.2"],software:"x"},"e@1":{}},message:"é tcp one"}\n',
      );
    });
  });
  test('by UDP, each datagram one; a message without a time has that of its arrival', async () => {
    await sendUdp('<13>udp b\nwith two lines\n', 'udp a');
    await soon(async () => {
      expect(
        await service.query(
          'from logs | where message like "udp%" | values {same:ts==received,facility,severity,format,message} | sort message',
        ),
      ).toBe(
        '{same:true,facility:"user",severity:"notice",format:"other",message:"udp a"}\n{same:true,facility:"user",severity:"notice",format:"rfc3164",message:"udp b\\nwith two lines"}\n',
      );
    });
  });
  test('structured data of ever new names is a text beyond a hundred shapes; bytes stay what they were', async () => {
    const socket = await open();
    for (let n = 0; n < 110; n++) socket.write(`<1>1 - - shapes - - [id${n} a="\\""] x\n`);
    socket.end(Buffer.from('<1>1 - - shapes - - - \xff\n', 'latin1'));
    await soon(async () => {
      expect(await service.query('from logs | where app=="shapes" | count()')).toBe('111\n');
    });
    expect(await service.query('from logs | where app=="shapes" and typeof(data)==<string> | count()')).toBe('10\n');
    expect(
      await service.query(
        'from logs | where app=="shapes" and typeof(data)==<string> | sort data | head 1 | values data',
      ),
    ).toMatch(/^"\[id\d+ a=\\"\\\\\\"\\"\]"\n$/);
    expect(await service.query('from logs | where app=="shapes" and message != "x" | values len(message::bytes)')).toBe(
      '1\n',
    );
  });
  test('the figures count them, and what was dropped', async () => {
    const { syslog } = service.server;
    const { received, dropped } = structuredClone({ ...syslog!.figures, waitingBytes: 0 });
    const socket = await open();
    socket.end(`${'x'.repeat(2000)}\nshort\n9 <34>cut`);
    await sendUdp('y'.repeat(2000));
    await soon(async () => {
      expect(syslog!.figures).toMatchObject({
        received: { ...received, tcp: received.tcp + 1 },
        dropped: { ...dropped, long: dropped.long + 2, cut: dropped.cut + 1 },
      });
    });
    const { body } = await service.ask('GET', '/metrics');
    expect(body).toMatch(/^lake_syslog_messages_total\{transport="udp"\} 2$/m);
    expect(body).toMatch(/^lake_syslog_batches_total\{outcome="committed"\} [1-9]/m);
    expect(body).toMatch(/^lake_syslog_waiting_bytes \d+$/m);
  });
});

test('what was read when the service is told to end is there at its next start, and in the audit log', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'lake-syslog-'));
  const audit = join(directory, 'audit.jsonl');
  const first = await startService(
    ['-syslog', '127.0.0.1:0', '-syslog.delay', '60s', '-audit', audit, '-shutdown.grace', '20s'],
    join(directory, 'lake'),
  );
  const socket = await open(first);
  socket.on('error', () => undefined);
  await new Promise<void>((resolve) => {
    socket.write(Array.from({ length: 5000 }, (_, n) => `<13>line ${n}\n`).join(''), () => resolve());
  });
  // Nothing was committed by then: the delay is longer than the test.
  await first.close();
  const second = await startService([], join(directory, 'lake'));
  expect(await second.query('from syslog | aggregate n:=count(),d:=count(distinct message)')).toBe('{n:5000,d:5000}\n');
  await second.close();
  const lines = readFileSync(audit, 'utf8').trimEnd().split('\n');
  expect(JSON.parse(lines[0]!)).toMatchObject({ who: 'syslog', method: 'SYSLOG', branch: 'main', status: 200 });
  await rm(directory, { recursive: true, force: true });
});

test.skipIf(lacksPython())(
  'what lies in the sockets when it is told to end is there, too: of connections that nobody has accepted yet',
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'lake-syslog-'));
    const flagsOf = ['-syslog', '127.0.0.1:0', '-syslog.delay', '60s', '-shutdown.grace', '20s'];
    const first = await startService(flagsOf, join(directory, 'lake'));
    const { port } = first.server.syslog!;
    // A process of its own, while this one does nothing else: its connections are made by the system alone.
    const script = [
      'import socket',
      'for i in range(50):',
      `  s = socket.create_connection(('127.0.0.1', ${port}))`,
      "  s.sendall(b'<13>one %d\\n<13>its last line %d' % (i, i))",
      '  s.close()',
    ].join('\n');
    expect(spawnSync('python3', ['-c', script], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
    await first.close();
    const second = await startService([], join(directory, 'lake'));
    expect(await second.query('from syslog | aggregate n:=count(),d:=count(distinct message)')).toBe('{n:100,d:100}\n');
    await second.close();
    await rm(directory, { recursive: true, force: true });
  },
);

test('a batch that cannot be committed waits until it can, and connections with it', async () => {
  const waiting = await startService(
    ['-syslog', '127.0.0.1:0', '-syslog.delay', '10ms', '-ingest.pools', 'existing'],
    undefined,
  );
  const socket = await open(waiting);
  const { figures } = waiting.server.syslog!;
  socket.write('<13>early\n');
  await soon(async () => {
    expect(figures.batches.again).toBeGreaterThan(0);
  });
  expect(figures.waitingBytes()).toBeGreaterThan(0);
  await waiting.ask('POST', '/pool', {
    headers: { accept: 'application/json' },
    body: '{name:"syslog",layout:{order:"desc",keys:[["ts"]]}}',
  });
  await soon(async () => {
    expect(await waiting.query('from syslog | values message')).toBe('"early"\n');
  });
  socket.destroy();
  await waiting.close();
});

test('while there is no room each connection waits with what it has: it is neither taken nor lost', async () => {
  const waiting = await startService(['-syslog', '127.0.0.1:0', '-syslog.delay', '10ms', '-ingest.pools', 'existing']);
  const { figures } = waiting.server.syslog!;
  const roomBytes = 16 << 20;
  const line = (n: number): string => `<13>${String(n).padStart(8, '0')}${'x'.repeat(990)}\n`;
  const each = 500;
  // One fills the room; the others' first chunks come when it is full.
  const sockets = [await open(waiting)];
  for (const socket of sockets) socket.on('error', () => undefined);
  const many = 17_000;
  sockets[0]!.end(Array.from({ length: many }, (_, n) => line(n)).join(''));
  await soon(async () => {
    expect(figures.waitingBytes()).toBeGreaterThanOrEqual(roomBytes);
  });
  for (let s = 0; s < 40; s++) {
    const socket = await open(waiting);
    socket.end(Array.from({ length: each }, (_, n) => line(many + s * each + n)).join(''));
    sockets.push(socket);
  }
  await soon(async () => {
    expect(figures.connections).toBe(41);
  });
  expect(figures.waitingBytes()).toBeLessThan(roomBytes + (128 << 10));
  await waiting.ask('POST', '/pool', {
    headers: { accept: 'application/json' },
    body: '{name:"syslog",layout:{order:"desc",keys:[["ts"]]}}',
  });
  const all = many + 40 * each;
  await soon(async () => {
    expect(await waiting.query('from syslog | aggregate n:=count(),d:=count(distinct message)')).toBe(
      `{n:${all},d:${all}}\n`,
    );
  });
  await waiting.close();
});

test('connections beyond the limit are closed at once, and counted', async () => {
  const crowded = await startService(['-syslog', '127.0.0.1:0']);
  const { figures } = crowded.server.syslog!;
  const sockets: Socket[] = [];
  for (let n = 0; n < 1_003; n++) sockets.push((await open(crowded)).on('error', () => undefined).resume());
  await soon(async () => {
    expect([figures.connections, figures.refusedConnections]).toEqual([1_000, 3]);
  });
  expect((await crowded.ask('GET', '/metrics')).body).toMatch(/^lake_syslog_connections_refused_total 3$/m);
  for (const socket of sockets) socket.destroy();
  await soon(async () => {
    expect(figures.connections).toBe(0);
  });
  await crowded.close();
});

describe('who may write by it', () => {
  const io = {
    cwd: tmpdir(),
    stdin: (async function* none() {
      yield* [];
    })(),
    stdoutIsTerminal: false,
    complain: () => undefined,
    write: async () => undefined,
  };
  test.each([
    [
      ['-syslog', '127.0.0.1:0', '-auth.keys'],
      /-syslog 127\.0\.0\.1:0: there is access control, and syslog has no keys/,
    ],
    [
      ['-syslog', '0.0.0.0:0'],
      /-syslog 0\.0\.0\.0:0: others can reach this address, and syslog has no keys: -syslog\.pool/,
    ],
    [['-syslog', 'nowhere'], /bad value for -syslog: "nowhere" \(HOST:PORT/],
  ])('%j is refused', async (argv, why) => {
    await expect(serveCommand(['-lake', join(tmpdir(), 'lake-syslog-none'), ...argv], io)).rejects.toThrow(why);
  });
});
