/**
 * The least that a server does for a durable commit: it writes each body into a file, synced, and answers. `node
 * bare-server.mjs FILE` prints its port. What a client of it waits for is what no service can save.
 */
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';

const [, , file] = process.argv;
const bytes = 1 << 20;
const zeros = openSync(file, 'w');
// In its full length: a file that grows takes the disk longer.
writeSync(zeros, Buffer.alloc(bytes));
closeSync(zeros);
const fd = openSync(file, constants.O_RDWR | constants.O_DSYNC);
const answer = Buffer.from('{"commit":"0x0000000000000000000000000000000000000000","warnings":[]}');
let at = 0;
const server = createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => {
    parts.push(part);
  });
  request.on('end', () => {
    const body = Buffer.concat(parts);
    if (at + body.length > bytes) at = 0;
    at += writeSync(fd, body, 0, body.length, at);
    response.setHeader('content-type', 'application/json');
    response.end(answer);
  });
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${server.address().port}\n`);
});
