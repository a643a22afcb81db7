/** One request to the store and its answer, whole; everything that breaks on the way is an error. */
import {
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as httpRequest,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';

const connectionsMax = 64;
/** Connections that are kept for the next request, and the requests under way. */
export class Agents {
  readonly http = new HttpAgent({ keepAlive: true, maxSockets: connectionsMax });
  readonly https = new HttpsAgent({ keepAlive: true, maxSockets: connectionsMax });
  private readonly underWay = new Set<ClientRequest>();
  private closed: Error | undefined;

  /** Knows it until it has ended. */
  add(request: ClientRequest): void {
    this.underWay.add(request);
    request.once('close', () => this.underWay.delete(request));
    if (this.closed) request.destroy(this.closed);
  }
  /** Ends all requests, and what comes to be asked. */
  close(reason = new Error('the client was closed')): void {
    this.closed = reason;
    for (const request of this.underWay) request.destroy(reason);
    this.http.destroy();
    this.https.destroy();
  }
}

/** `idleMsMax`: how long nothing may come or go, a connection that is to be made among it. `sink`: takes the body of an answer of 200. */
export interface Exchange {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly idleMsMax: number;
  readonly sink?: (chunk: Uint8Array) => void;
}
/** `body` is empty where a sink took it. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** What is collected of an answer. */
const answerBytesMax = 512 << 20;

/** Rejects when connecting, sending or receiving fails, or the answer ends early. */
export const exchange = ({ method, url, headers, body, idleMsMax, sink }: Exchange, agents: Agents): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const isPlain = url.protocol === 'http:';
    const request = (isPlain ? httpRequest : httpsRequest)(url, {
      method,
      headers: { ...headers, ...(body && { 'content-length': String(body.length) }) },
      agent: isPlain ? agents.http : agents.https,
      // Set later it would begin when the connection is there.
      timeout: idleMsMax,
    });
    agents.add(request);
    request.on('timeout', () => {
      request.destroy(new Error(`no data for ${idleMsMax / 1000} s`));
    });
    request.on('error', reject);
    request.on('response', (response) => {
      readAnswer(response, method, sink).then(resolve, (fault: unknown) => {
        request.destroy();
        reject(fault instanceof Error ? fault : new Error(String(fault)));
      });
    });
    request.end(body);
  });

const readAnswer = (
  response: IncomingMessage,
  method: string,
  sink: ((chunk: Uint8Array) => void) | undefined,
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const status = response.statusCode ?? 0;
    const parts: Buffer[] = [];
    let bytes = 0;
    let isGivenUp = false;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (isGivenUp) return;
      try {
        if (sink && status === 200) sink(chunk);
        else if (bytes > answerBytesMax) throw new Error(`the answer is longer than ${answerBytesMax} bytes`);
        else parts.push(chunk);
      } catch (fault) {
        isGivenUp = true;
        reject(fault as Error);
      }
    });
    response.on('error', reject);
    // An answer that is cut off closes without an end.
    response.on('close', () => {
      reject(new Error('the answer was cut off'));
    });
    response.on('end', () => {
      const { 'content-length': length } = response.headers;
      if (method !== 'HEAD' && length !== undefined && Number(length) !== bytes)
        reject(new Error(`the answer has ${bytes} bytes, its head says ${length}`));
      else resolve({ status, headers: response.headers, body: parts.length === 1 ? parts[0]! : Buffer.concat(parts) });
    });
  });
