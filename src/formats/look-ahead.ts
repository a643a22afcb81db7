/**
 * A stream whose beginning can be read several times, so that formats can be tried on it. What was read ahead is
 * bounded.
 */
import { LakeError } from '../errors.ts';

export class LookAhead {
  private readonly source: AsyncIterator<Uint8Array>;
  private readonly bytesMax: number;
  private readonly chunks: Uint8Array[] = [];
  private size = 0;
  private ended = false;
  /**
   * Why the stream ended too early. It is no evidence against any format, and what came before is not the whole input.
   */
  fault: unknown;

  constructor(input: AsyncIterable<Uint8Array>, bytesMax: number) {
    this.source = input[Symbol.asyncIterator]();
    this.bytesMax = bytesMax;
  }

  /** The stream from its start. @throws LakeError `format-look-ahead` beyond the bound */
  async *peek(): AsyncGenerator<Uint8Array> {
    for (let i = 0; ; i++) {
      if (i === this.chunks.length && !(await this.pull())) return;
      yield this.chunks[i];
    }
  }

  /** The stream from its start, to be read once and to its end. */
  async *rest(): AsyncGenerator<Uint8Array> {
    try {
      for (let chunk = this.chunks.shift(); chunk; chunk = this.chunks.shift()) yield chunk;
      while (!this.ended) {
        const { done, value } = await this.source.next();
        if (done) this.ended = true;
        else yield value;
      }
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    if (!this.ended) await this.source.return?.();
    this.ended = true;
  }

  private async pull(): Promise<boolean> {
    if (this.fault !== undefined) throw this.fault;
    if (this.ended) return false;
    if (this.size > this.bytesMax) throw new LakeError('format-look-ahead', { limit: this.bytesMax });
    const { done, value } = await this.source.next().catch((problem: unknown) => {
      this.fault = problem;
      throw problem;
    });
    if (done) {
      this.ended = true;
      return false;
    }
    this.chunks.push(value);
    this.size += value.length;
    return true;
  }
}
