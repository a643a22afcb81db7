/** A proxy that serves a service under a path prefix, as people put one in front of it. */
import { createServer, request as httpRequest } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

interface PrefixProxy {
  readonly url: string;
  readonly close: () => void;
}

/** Serves `target` below `prefix`, WebSockets too. */
export const startPrefixProxy = async (target: URL, prefix = '/data/lake'): Promise<PrefixProxy> => {
  const to = { hostname: target.hostname, port: Number(target.port) };
  const server = createServer((request, response) => {
    if (!request.url!.startsWith(`${prefix}/`)) {
      response.writeHead(404).end();
      return;
    }
    const onward = httpRequest(
      { ...to, method: request.method, path: request.url!.slice(prefix.length), headers: request.headers },
      (answer) => {
        // A stream of events may have nothing to say for long.
        response.writeHead(answer.statusCode!, answer.headers).flushHeaders();
        answer.pipe(response);
        answer.on('error', () => response.destroy());
      },
    );
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  server.on('upgrade', (request, socket, head) => {
    const upstream = connect(to.port, to.hostname, () => {
      upstream.write(
        `GET ${request.url!.slice(prefix.length)} HTTP/1.1\r\n${request.rawHeaders.map((text, i) => (i % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('')}\r\n`,
      );
      upstream.write(head);
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () => socket.destroy());
    socket.on('error', () => upstream.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
};
