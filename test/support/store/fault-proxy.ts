/** A proxy between a lake and its store that breaks requests on purpose, whatever store it is. */
import { createServer, type IncomingMessage, request as send, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * `500`, `503`: answered without asking the store; `reset`: the connection ends before anything is asked; `stall`:
 * nothing is answered; `cut`: the answer ends in the middle; `lost`: the store is asked, and its answer kept back;
 * `late`: the store is asked when `release` says so; `old`: a listing is answered as it was first, since the last
 * `forget`.
 */
export type Fault = '500' | '503' | 'reset' | 'stall' | 'cut' | 'lost' | 'late' | 'old';
/** `faultOf`: what is to befall a request; may be set at any time. */
export interface FaultProxy {
  readonly endpoint: string;
  faultOf: (method: string, path: string) => Fault | undefined;
  /** What befell, in order. */
  readonly done: string[];
  /** Lets go what is late. */
  release(): void;
  /** Listings so far are forgotten. */
  forget(): void;
  close(): Promise<void>;
}

const bodyOf = async (message: IncomingMessage): Promise<Buffer> => {
  const parts: Buffer[] = [];
  for await (const chunk of message as AsyncIterable<Buffer>) parts.push(chunk);
  return Buffer.concat(parts);
};

/** Starts one before the store at `endpoint`. */
export const startFaultProxy = async (endpoint: string): Promise<FaultProxy> => {
  const target = new URL(endpoint);
  const late: (() => void)[] = [];
  /** The first answer to each. */
  const listings = new Map<string, { readonly body: Buffer }>();
  const ask = async (request: IncomingMessage, body: Buffer): Promise<{ head: IncomingMessage; body: Buffer }> => {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const asked = send(
        {
          host: target.hostname,
          port: target.port,
          method: request.method,
          path: request.url,
          headers: request.headers,
        },
        resolve,
      );
      asked.on('error', reject);
      asked.end(body);
    });
    return { head: answer, body: await bodyOf(answer) };
  };
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const fault = proxy.faultOf(request.method!, request.url!);
    if (fault) proxy.done.push(`${fault} ${request.method} ${request.url}`);
    if (fault === 'reset') return void request.socket.resetAndDestroy();
    const body = await bodyOf(request);
    if (fault === 'stall') return;
    if (fault === '500' || fault === '503') {
      response.writeHead(Number(fault)).end('<Error><Code>SlowDown</Code><Message>on purpose</Message></Error>');
      return;
    }
    if (fault === 'late') await new Promise<void>((resolve) => late.push(resolve));
    const answer = await ask(request, body);
    if (request.url!.includes('list-type=')) {
      const first = listings.get(request.url!) ?? answer;
      listings.set(request.url!, first);
      if (fault === 'old') answer.body = first.body;
      answer.head.headers['content-length'] = String(answer.body.length);
    }
    if (fault === 'lost') return void request.socket.resetAndDestroy();
    if (response.destroyed) return;
    response.writeHead(answer.head.statusCode!, answer.head.headers);
    if (fault !== 'cut') {
      response.end(answer.body);
      return;
    }
    if (answer.body.length < 2) return void request.socket.resetAndDestroy();
    response.write(answer.body.subarray(0, answer.body.length >> 1), () => request.socket.destroy());
  };
  const http = createServer((request, response) => {
    pass(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const proxy: FaultProxy = {
    endpoint: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    faultOf: () => undefined,
    done: [],
    release: () => {
      for (const go of late.splice(0)) go();
    },
    forget: () => {
      listings.clear();
    },
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
  return proxy;
};
