/**
 * A client of the warm-up: a connection that writes requests as other programs do and waits for the end of each answer.
 * Node's own client would take more time than the service takes to answer, and teach the code that both have in common
 * to look for what only clients do.
 */
import { randomUUID } from 'node:crypto';
import { type Socket, connect } from 'node:net';

/** A request. `body`: text of one byte a character. */
export interface Asked {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: string;
}

/** How programs write their requests' heads, in turn: Node's client, curl, fetch, and one that names its requests. */
const heads: readonly ((asked: Asked, host: string) => string)[] = [
  ({ method, path, body }, host) =>
    `${method} ${path} HTTP/1.1\r\naccept: application/json\r\n${body === undefined ? '' : 'content-type: application/json\r\n'}Host: ${host}\r\nConnection: keep-alive\r\n${body === undefined ? '' : `Content-Length: ${body.length}\r\n`}`,
  ({ method, path, body }, host) =>
    `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n${body === undefined ? '' : `Content-Length: ${body.length}\r\nContent-Type: application/x-www-form-urlencoded\r\n`}`,
  ({ method, path, body }, host) =>
    `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n${body === undefined ? '' : 'content-type: application/json\r\n'}accept: */*\r\naccept-language: *\r\nsec-fetch-mode: cors\r\nuser-agent: node\r\naccept-encoding: gzip, deflate\r\n${body === undefined ? '' : `content-length: ${body.length}\r\n`}`,
  ({ method, path, body }, host) =>
    `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nAccept: application/json\r\nX-Request-Id: ${randomUUID()}\r\n${body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`}`,
];
/** Every so many bodies comes behind its head, not with it. */
const apartEvery = 5;

let names = 0;

/** One connection to a server on this machine. */
export class WarmClient {
  readonly #hosts: readonly string[];
  readonly #socket: Socket;
  #asked = 0;
  #text = '';
  #answered: ((fault?: Error) => void) | undefined;

  /** Of a lent server, which hears who knows the secret. */
  constructor({ port, secret }: { readonly port: number; readonly secret: Uint8Array }) {
    this.#hosts = [`127.0.0.1:${port}`, `localhost:${port}`, `warm-${++names}.localhost`];
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true });
    this.#socket.setEncoding('latin1');
    this.#socket.write(secret);
    this.#socket.on('data', (text: string) => {
      this.#text += text;
      if (isWhole(this.#text)) this.#answered?.();
    });
    this.#socket.on('close', () => {
      this.#answered?.(new Error('the connection was closed'));
    });
    this.#socket.on('error', (fault) => {
      this.#answered?.(fault);
    });
  }

  /** Resolves with the answer, head and body. One at a time. */
  ask(asked: Asked): Promise<string> {
    const turn = this.#asked++;
    const head = `${heads[turn % heads.length]!(asked, this.#hosts[turn % this.#hosts.length]!)}\r\n`;
    const { body = '' } = asked;
    return new Promise((resolve, reject) => {
      this.#text = '';
      this.#answered = (fault) => {
        if (fault) reject(fault);
        else resolve(this.#text);
      };
      if (turn % apartEvery > 0) {
        this.#socket.write(head + body, 'latin1');
        return;
      }
      this.#socket.write(head, 'latin1');
      setImmediate(() => {
        this.#socket.write(body, 'latin1');
      });
    });
  }
  close(): void {
    this.#socket.destroy();
  }
}

/** Whether a text holds an answer to its end. */
const isWhole = (text: string): boolean => {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return false;
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(text);
  return length
    ? text.length >= headEnd + 4 + Number(length[1])
    : text.endsWith('\r\n0\r\n\r\n') || text.startsWith('HTTP/1.1 204');
};
