/**
 * The rows of a scan in any order, block by block; rows of unlike types come in batches of their own: each then has one
 * shape. Where only the best rows are wanted, the objects and blocks that promise most are looked at before the others.
 */
import { concat } from '../../vectors/concat.ts';
import { columnsSize, sizeOf } from '../../vectors/sizes.ts';
import { isTurnLong } from '../../vectors/stop.ts';
import { type Vector, noRows } from '../../vectors/vector.ts';
import type { ObjectReader } from '../objects/reader.ts';
import { ReadAhead } from './ahead.ts';
import { type BestKeys, spanOfBlock, spanOfObject } from './best.ts';
import { BlockScanner } from './block.ts';
import { type ScanInput, batchBytes, blocksOf, isWhole, wholeBlockRows } from './input.ts';

/** Blocks that are begun and wait, and what is wanted of them. */
const lateBlocksMax = 128;
const lateBytesMax = 32 << 20;
/** The rows of a block that are on their way. */
interface Late {
  readonly found: Promise<readonly Vector[]>;
  readonly bytes: number;
}

/** A scan of `input`, whose `rows` can be asked for once. */
export class UnorderedScan {
  private readonly input: ScanInput;
  private readonly scanner: BlockScanner;
  private readonly ahead: ReadAhead;
  /** Rows that wait to be given out, the block that is read next, and rows that are being read. */
  private readonly ready: Vector[] = [];
  private current: { readonly reader: ObjectReader; block: number } | undefined;
  private readonly late: Late[] = [];
  private lateBytes = 0;

  constructor(input: ScanInput) {
    this.input = input;
    const { options, bestKeys, descending } = input;
    const cache = input.source.readers?.columns;
    this.scanner = new BlockScanner({ ...options, ...(cache && { cache }), ...(bestKeys && { bestKeys, descending }) });
    // Rows whose order does not matter are aggregated or sorted: all of them, but for those that cannot be the best.
    this.ahead = new ReadAhead(input, this.scanner, !bestKeys);
  }

  async *rows(): AsyncGenerator<Vector> {
    let held: Vector[] = [];
    let heldRows = 0;
    let heldBytes = 0;
    let counted = 0;
    const { columns, pruner, filter } = this.input.options;
    const isOfAll = !pruner && !filter && !this.input.options.blocks;
    const isCounted = columns?.length === 0 && isOfAll;
    const best = this.input.bestKeys;
    const flush = async (): Promise<Vector> => {
      const rows = held;
      held = [];
      heldRows = heldBytes = 0;
      return rows.length > 0 ? this.input.filtered(concat(rows)) : noRows;
    };
    if (best) await this.lookForKeys(best);
    for (let meta = await this.input.peek(); meta; meta = this.input.next ?? (await this.input.peek())) {
      this.input.step();
      if (best && meta.count > 1 && !best.mayHold(spanOfObject(meta))) {
        this.input.options.counts?.skipped(blocksOf(meta));
        // Batches end where they would with its rows, so that equal rows keep their order.
        if (meta.count < wholeBlockRows) heldRows += meta.count;
        if (heldRows >= this.input.batchRows) yield* this.input.cut(await flush());
        continue;
      }
      if (isCounted) {
        counted += meta.count;
        if (this.input.options.counted) continue;
        yield* this.input.cut({ form: 'record', length: counted, fields: [] });
        counted = 0;
        continue;
      }
      if (this.input.takesTiny(meta)) {
        if (!this.input.isTinyFull) continue;
        this.input.options.signal?.throwIfAborted();
        yield* this.input.cut(await this.input.filtered(this.input.tiny.take()));
        continue;
      }
      const reader = await this.input.open(meta);
      if (isOfAll && this.scanner.takesAll(reader)) continue;
      if (filter?.best && !best) await this.lookAhead(reader);
      this.current = { reader, block: this.input.nextBlock(reader, 0) };
      for (;;) {
        for (let rows = this.nextNow(); rows; rows = this.nextNow()) yield rows;
        const late = this.late.shift();
        if (late) {
          this.lateBytes -= late.bytes;
          this.give(await late.found);
          continue;
        }
        const { block } = this.current;
        if (block < 0) break;
        if (isWhole(reader, block)) continue;
        this.input.options.signal?.throwIfAborted();
        this.ahead.from(reader, block);
        this.current.block = this.input.nextBlock(reader, block + 1);
        if (!best || best.mayHold(spanOfBlock(reader.blocks[block]!, this.input.descending))) {
          const rows = await this.scanner.all(reader, block);
          held.push(rows);
          heldBytes += sizeOf(rows) + columnsSize(rows);
        }
        heldRows += reader.blocks[block]!.rows;
        if (heldRows >= this.input.batchRows || heldBytes >= batchBytes) yield* this.input.cut(await flush());
      }
    }
    if (counted > 0) yield { form: 'record', length: counted, fields: [] };
    if (this.input.tiny.count > 0) yield* this.input.cut(await this.input.filtered(this.input.tiny.take()));
    if (heldRows > 0) yield* this.input.cut(await flush());
  }

  /** The next rows that need no wait, while `rows` waits to go on. */
  nextNow(): Vector | undefined {
    const { current, ready } = this;
    for (;;) {
      const rows = ready.shift();
      if (rows) return rows;
      if (!current || current.block < 0 || !isWhole(current.reader, current.block)) return undefined;
      if (this.late.length > 0 && !this.goesOn(current.reader)) return undefined;
      this.input.options.signal?.throwIfAborted();
      const { reader, block } = current;
      this.ahead.from(reader, block);
      current.block = this.input.nextBlock(reader, block + 1);
      const found = this.scanner.parts(reader, block);
      if (found instanceof Promise || this.late.length > 0) {
        const bytes = this.scanner.wantedBytes(reader, block);
        this.lateBytes += bytes;
        this.late.push({ found: Promise.resolve(found), bytes });
        // Its failure is told when it is awaited, if ever.
        if (found instanceof Promise) found.catch(() => undefined);
      } else {
        this.give(found);
        if (ready.length === 0 && isTurnLong()) return undefined;
      }
    }
  }
  /**
   * Whether the next block is begun while others are on their way: of an object that is far away each asks twice, for
   * what the filter looks at and for what else is wanted, and these are to be two waits for all of them.
   */
  private goesOn(reader: ObjectReader): boolean {
    const { filter, limit } = this.input.options;
    return (
      reader.isFar &&
      filter !== undefined &&
      !filter.best &&
      limit === undefined &&
      this.late.length < lateBlocksMax &&
      this.lateBytes < lateBytesMax
    );
  }
  private give(found: readonly Vector[]): void {
    for (const rows of found) this.ready.push(...this.input.cut(rows));
  }

  /**
   * Where only the best rows are wanted, the most promising blocks are looked at before the others, until the next one
   * promises nothing more.
   */
  private async lookAhead(reader: ObjectReader): Promise<void> {
    const promising: { readonly block: number; readonly most: number }[] = [];
    const best = this.input.options.filter!.best!;
    for (let block = this.input.nextBlock(reader, 0); block >= 0; block = this.input.nextBlock(reader, block + 1)) {
      const most = this.scanner.promise(reader, block);
      if (most !== undefined) promising.push({ block, most });
    }
    promising.sort((a, b) => b.most - a.most || a.block - b.block);
    for (const { block, most } of promising.slice(0, promising.length >> 2)) {
      const floor = best.floor();
      if (floor !== undefined && most < (best.greater ? floor : -floor)) return;
      this.input.options.signal?.throwIfAborted();
      await this.scanner.ahead(reader, block);
    }
  }

  /**
   * The same by the keys of objects and blocks, before any is read: what the test keeps of the most promising ones, or
   * all of their rows, rules out the others.
   */
  private async lookForKeys(best: BestKeys): Promise<void> {
    const { filter, pruner, blocks, signal } = this.input.options;
    const isTested = filter!.best!.isTested || pruner !== undefined;
    // Small objects are not worth a test of their own.
    const all = await this.input.listAhead();
    const objects = all
      .filter((meta) => meta.count >= wholeBlockRows || (!isTested && !blocks))
      .map((meta) => ({ meta, span: spanOfObject(meta) }));
    let rowsLeft = all.reduce((n, meta) => n + meta.count, 0) >> 2;
    for (const { meta, span: whole } of best.promising(objects)) {
      if (!best.mayHold(whole)) return;
      if (meta.count < wholeBlockRows) {
        best.add(whole, meta.count);
        continue;
      }
      const reader = await this.input.open(meta);
      const found: { readonly block: number; readonly span: ReturnType<typeof spanOfBlock> }[] = [];
      for (let block = this.input.nextBlock(reader, 0); block >= 0; block = this.input.nextBlock(reader, block + 1))
        found.push({ block, span: spanOfBlock(reader.blocks[block]!, this.input.descending) });
      for (const { block, span } of best.promising(found)) {
        if (!best.mayHold(span)) break;
        const { rows } = reader.blocks[block]!;
        if (!best.tells(span) || (isTested && !isWhole(reader, block))) continue;
        if (isTested && (rowsLeft -= rows) < 0) return;
        signal?.throwIfAborted();
        best.add(span, isTested ? await this.scanner.ahead(reader, block) : rows);
      }
    }
  }
}
