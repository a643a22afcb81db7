/**
 * The lines of a stream of UTF-8 bytes, without their ends, as they come; the last one needs none. Leaving the loop
 * cancels the stream.
 */
export async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let ended = false;
  try {
    while (!ended) {
      const { value, done } = await reader.read();
      ended = done;
      const pieces = (rest + decoder.decode(value, { stream: !done })).split(/\r\n|\n/);
      rest = pieces.pop()!;
      yield* pieces;
    }
    if (rest) yield rest;
  } finally {
    if (!ended) await reader.cancel().catch(() => undefined);
    reader.releaseLock();
  }
}
