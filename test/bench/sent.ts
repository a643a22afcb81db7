/** A file as a load, from this process. */
import { createReadStream } from 'node:fs';
import { request } from 'node:http';

/** Resolves when it is committed. `type`: its media type. */
export const sent = (url: string, file: string, type = 'application/x-ndjson'): Promise<void> =>
  new Promise((resolve, reject) => {
    const asked = request(url, { method: 'POST', headers: { 'content-type': type } }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => {
        text += chunk;
      });
      answer.on('error', reject);
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve();
        else reject(new Error(`the load: ${answer.statusCode} ${text}`));
      });
    });
    asked.on('error', reject);
    createReadStream(file, { highWaterMark: 1 << 20 }).pipe(asked);
  });
