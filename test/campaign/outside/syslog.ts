/**
 * Part `syslog`: the service is told to end, or is killed, while 100 connections send. What a sender had sent and closed
 * when the service was told to end is there at the next start; what a query had seen before a kill is, too; each message
 * is there once, as it was sent.
 */
import { rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { type Service, startBuiltService } from '../../support/service/built.ts';
import { clientOf } from '../../support/service/client.ts';
import { type Random, randomOf } from '../../support/random.ts';
import type { PartRun } from '../part.ts';
import { freePort } from '../../support/service/free-port.ts';

const senders = 100;
const messagesMax = 40;
const textMax = 400;

/** What was sent: by number, and whether its connection was closed in order before the service was to end. */
class Book {
  readonly sent: string[] = [];
  readonly closed = new Set<number>();
  isOver = false;
}

/** One connection's messages; numbers are drawn as they are sent. */
const bytesOf = (book: Book, random: Random): { readonly numbers: readonly number[]; readonly bytes: Buffer } => {
  const numbers: number[] = [];
  let text = '';
  for (let i = 1 + random.below(messagesMax); i > 0; i--) {
    const number = book.sent.length;
    const message = `${number} ${random.hex(random.below(textMax))}`;
    book.sent.push(message);
    numbers.push(number);
    const framed = `<13>1 - - - - - - ${message}`;
    // The last line may lack its end.
    text +=
      random.below(2) === 0
        ? `${Buffer.byteLength(framed)} ${framed}`
        : `${framed}${i === 1 && random.below(3) === 0 ? '' : '\n'}`;
  }
  return { numbers, bytes: Buffer.from(text) };
};

/** One after the other, until nobody takes them any more. */
const send = async (port: number, book: Book, random: Random): Promise<void> => {
  for (let isRefused = false; !isRefused && !book.isOver; ) {
    const socket: Socket = connect(port, '127.0.0.1');
    const { numbers, bytes } = bytesOf(book, random);
    const ended = new Promise<void>((resolve) => {
      socket.on('close', () => resolve());
    });
    socket.on('error', () => {
      isRefused = true;
    });
    socket.on('finish', () => {
      if (!book.isOver && !socket.errored) for (const number of numbers) book.closed.add(number);
    });
    const cut = random.below(2) === 0 ? bytes.length : random.below(bytes.length);
    socket.resume().write(bytes.subarray(0, cut));
    await new Promise((resolve) => setImmediate(resolve));
    socket.end(bytes.subarray(cut));
    await ended;
  }
};

const found = async ({ address }: Pick<Service, 'address'>): Promise<readonly string[]> => {
  const client = clientOf(address, 1);
  try {
    const pools = await client.query<{ name: string }>('from :pools');
    if (!pools.some(({ name }) => name === 'syslog')) return [];
    return await client.query<string>('from syslog | values message');
  } finally {
    client.close();
  }
};

const ends = ['SIGTERM', 'SIGTERM', 'SIGKILL'] as const;
export const syslog: PartRun = async ({ folder, seeds, count, failed }) => {
  for (const seed of seeds) {
    const random = randomOf(seed + 61);
    const lake = join(folder, `lake-${seed}`);
    const end = ends[seed % ends.length]!;
    const port = await freePort();
    const delay = random.pick(['10ms', '200ms', '60s']);
    const book = new Book();
    try {
      const service = await startBuiltService({
        lake,
        flags: [
          ...['-workers', '1', '-shutdown.grace', '10s'],
          ...['-syslog', `127.0.0.1:${port}`, '-syslog.delay', delay],
        ],
      });
      const wanted = 100 + random.below(4000);
      const sending = Array.from({ length: senders }, () => send(port, book, random));
      while (book.closed.size < wanted) await new Promise((resolve) => setImmediate(resolve));
      const seen = end === 'SIGKILL' ? await found(service) : [];
      book.isOver = true;
      const told = new Set(book.closed);
      const status = await service.end(end);
      await Promise.all(sending);
      if (end === 'SIGTERM' && status !== 0) failed(seed, `it ended with ${status}: ${service.printed().slice(-500)}`);
      const again = await startBuiltService({ lake, flags: ['-workers', '1'] });
      const messages = await found(again).finally(() => again.end());
      const there = new Set(messages);
      const must = end === 'SIGTERM' ? [...told].map((number) => book.sent[number]!) : seen;
      const lost = must.filter((message) => !there.has(message));
      const all = new Set(book.sent);
      const strange = messages.filter((message) => !all.has(message));
      if (lost.length > 0)
        failed(seed, `${end}, delay ${delay}: ${lost.length} of ${must.length} are lost: ${lost[0]}`);
      if (there.size < messages.length) failed(seed, `${messages.length - there.size} are there twice`);
      // What was under way may end anywhere with its connection, and only there.
      if (strange.some((message) => !book.sent.some((whole) => whole.startsWith(message))))
        failed(seed, `what nobody sent: ${strange[0]}`);
      count('messages', book.sent.length);
      count('that had to be there', must.length);
      count(end);
    } catch (error) {
      failed(seed, error instanceof Error ? error.message : String(error));
    }
    rmSync(lake, { recursive: true, force: true });
  }
};
