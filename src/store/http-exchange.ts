/** One request to the store and its answer, whole; everything that breaks on the way is an error. */
import { Agent as HttpAgent, type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';

const connectionsMax = 64;
/** Connections that are kept for the next request. */
export class Agents {
  readonly http = new HttpAgent({ keepAlive: true, maxSockets: connectionsMax });
  readonly https = new HttpsAgent({ keepAlive: true, maxSockets: connectionsMax });
  close(): void {
    this.http.destroy();
    this.https.destroy();
  }
}

/** `idleMsMax`: how long nothing may come or go. `sink`: takes the body of an answer of 200. */
export interface Exchange {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly idleMsMax: number;
  readonly sink?: (chunk: Uint8Array) => void;
  readonly signal?: AbortSignal;
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
export const exchange = (
  { method, url, headers, body, idleMsMax, sink, signal }: Exchange,
  agents: Agents,
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const isPlain = url.protocol === 'http:';
    const request = (isPlain ? httpRequest : httpsRequest)(url, {
      method,
      headers: { ...headers, ...(body && { 'content-length': String(body.length) }) },
      agent: isPlain ? agents.http : agents.https,
      ...(signal && { signal }),
    });
    request.setTimeout(idleMsMax, () => {
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

const readAnswer = async (
  response: IncomingMessage,
  method: string,
  sink: ((chunk: Uint8Array) => void) | undefined,
): Promise<Answer> => {
  const status = response.statusCode ?? 0;
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (sink && status === 200) sink(chunk);
    else if (bytes > answerBytesMax) throw new Error(`the answer is longer than ${answerBytesMax} bytes`);
    else parts.push(chunk);
  }
  const { 'content-length': length } = response.headers;
  if (!response.complete) throw new Error('the answer was cut off');
  if (method !== 'HEAD' && length !== undefined && Number(length) !== bytes)
    throw new Error(`the answer has ${bytes} bytes, its head says ${length}`);
  return { status, headers: response.headers, body: Buffer.concat(parts) };
};
