/**
 * Rows to the bytes of a data object. An object is a header, blocks of column segments, dictionaries, a footer and a
 * trailer; see `objects/format.ts`.
 *
 * Invariants:
 * - Rows come sorted by the pool's key, a block at a time; bytes leave in order as soon as they are made.
 * - Nothing that was written is touched again.
 */
import assert from 'node:assert';
import { LakeError } from '../../errors.ts';
import { levelsMax } from '../../vectors/type-limits.ts';
import { heldSize } from '../../vectors/shown-size.ts';
import { sizeOf } from '../../vectors/sizes.ts';
import type { Vector } from '../../vectors/vector.ts';
import { ByteWriter } from '../../vectors/value.ts';
import { checksum } from '../columns/checksum.ts';
import { type Compress, compress } from '../columns/compression.ts';
import { ColumnDictionary } from '../columns/dictionary.ts';
import { type EncodedBlock, type ObjectTables, encodeBlock } from '../columns/encode.ts';
import { type KeptRows, type StoredBlock, encodeKept } from '../columns/kept.ts';
import { type Layout, TypeTable, layoutKey, levelsOf, writeLayout } from '../columns/layout.ts';
import { idBuffer } from '../ksuid.ts';
import type { Id } from '../lake.types.ts';
import {
  blockRowsMax,
  compressedVersion,
  footerFlags,
  header,
  inlineBytesMax,
  magic,
  noOrigins,
  plainVersion,
  trailerLength,
} from './format.ts';

/** Sort keys of a block's first and last row. */
interface BlockKeys {
  readonly first: Uint8Array;
  readonly last: Uint8Array;
}
/** What is known of an object before its rows come. */
interface ObjectWriterOptions {
  /** Rows that will come, about: small objects go without zone maps, large ones try out their dictionaries first. */
  readonly rowsExpected: number;
  /** It is read once and gone: dictionaries are not looked for, those that columns come with are kept. */
  readonly temporary?: true;
  /** Columns that come without a dictionary get none: it was found out before that none pays. */
  readonly keepsEncodings?: boolean;
  /** It is to lie still: its segments are compressed where that pays, unless it is small. */
  readonly compressed?: boolean;
}

/**
 * Rows that a large object holds back to see which dictionaries pay, in no more blocks than that, nor in more memory,
 * which rows of very many columns take.
 */
const trialRows = 24_576;
const trialBlocks = 4;
const trialBytesMax = 32 << 20;
/** Rows from which zone maps are worth their place. */
const statisticsRowsMin = 1024;
/** What a footer of one block has beside its parts, about. */
const footerRoom = 64;

interface BlockEntry {
  readonly rows: number;
  readonly layout: number;
  readonly offset: number;
  readonly dataLength: number;
  readonly directory: Uint8Array;
  readonly keys: BlockKeys;
}

/** Writes one data object, block by block; its bytes go to `emit`. */
export class ObjectWriter {
  /** Rows so far. */
  count = 0;
  private readonly emit: (chunk: Uint8Array) => void;
  private readonly statistics: boolean;
  /** Rows of other objects may have more levels: earlier versions let queries make them. */
  private readonly limitsLevels: boolean;
  private readonly types = new TypeTable();
  private readonly compress: Compress | undefined;
  private readonly tables: ObjectTables;
  private readonly dictionaries = new Map<string, ColumnDictionary>();
  /** Of the blocks so far, in the order of their numbers. */
  private readonly layouts: Layout[] = [];
  /** Their numbers by their keys, which are made when a second block comes: most objects have one. */
  private layoutNumbers: Map<string, number> | undefined;
  private readonly layoutBytes = new ByteWriter();
  private readonly blocks: BlockEntry[] = [];
  private directoryLength = 0;
  private at = 0;
  private trial: { readonly batch: Vector; readonly keys: BlockKeys }[] | undefined;
  private trialBytes = 0;
  private trialHeld = 0;
  private version: number = plainVersion;

  constructor(emit: (chunk: Uint8Array) => void, options: ObjectWriterOptions) {
    this.emit = emit;
    this.limitsLevels = !options.temporary && !options.keepsEncodings;
    this.statistics = options.rowsExpected >= statisticsRowsMin;
    this.compress = options.compressed && this.statistics ? compress : undefined;
    if (this.compress) this.version = compressedVersion;
    this.tables = {
      types: this.types,
      dictionaries: this.dictionaries,
      copied: new Map(),
      ...(options.temporary && { onlyGiven: true }),
      ...(options.keepsEncodings && { keepsEncodings: true }),
      ...(this.compress && { compress: this.compress }),
      newer: (version) => {
        this.version = Math.max(this.version, version);
      },
    };
    if (!options.temporary && !options.keepsEncodings) this.trial = [];
    this.write(header);
  }

  /** Bytes that the object would have if it ended now, about. */
  get size(): number {
    return this.at + this.trialBytes + this.directoryLength;
  }

  /** Bytes of the footer so far, about. */
  get footerSize(): number {
    return this.directoryLength + this.layoutBytes.length + this.types.out.length;
  }

  /** Appends one block of at most `blockRowsMax` rows. `held`: bytes that they take while they wait. */
  block(batch: Vector, keys: BlockKeys, held = heldSize(batch)): void {
    assert(batch.length > 0 && batch.length <= blockRowsMax);
    this.count += batch.length;
    if (!this.trial) return this.encode(batch, keys);
    this.trial.push({ batch, keys });
    this.trialBytes += sizeOf(batch);
    this.trialHeld += held;
    if (this.count >= trialRows || this.trial.length === trialBlocks || this.trialHeld >= trialBytesMax)
      this.endTrial();
  }

  /**
   * Appends a block of another object without some of its rows, copied as it is stored; false: it has to be decoded for
   * that.
   */
  keep(stored: StoredBlock, kept: KeptRows, keys: BlockKeys): boolean {
    if (this.trial || stored.hasStatistics !== this.statistics) return false;
    if (stored.isCompressed !== (this.compress !== undefined)) return false;
    const block = encodeKept(stored, kept, this.tables, this.statistics);
    if (!block) return false;
    this.count += kept.count;
    this.append(block, keys);
    return true;
  }

  /**
   * Writes dictionaries, origins of rows if they are given, and footer, with the id of an object that is large enough to
   * be a file; answers the object's length.
   */
  finish({ origins, id }: { readonly origins?: Uint8Array; readonly id?: Id } = {}): number {
    this.endTrial();
    const footer = new ByteWriter();
    const { types, layouts, layoutBytes } = this;
    footer.reserve(this.directoryLength + types.out.length + layoutBytes.length + footerRoom);
    const dictionaries = this.dictionaryEntries();
    footer.uvarint(this.version);
    const flagsAt = footer.length;
    footer.byte((this.statistics ? footerFlags.statistics : 0) | (this.compress ? footerFlags.compressed : 0));
    footer.uvarint(this.count);
    footer.uvarint(numberLength(types.count) + types.out.length + numberLength(layouts.length) + layoutBytes.length);
    footer.uvarint(types.count);
    footer.written(types.out);
    footer.uvarint(layouts.length);
    footer.written(layoutBytes);
    if (dictionaries) footer.written(dictionaries);
    else footer.byte(0);
    this.blockEntries(footer);
    if (origins) this.origins(footer, origins);
    if (id !== undefined && this.at + footer.length + trailerLength >= inlineBytesMax) {
      if (!origins) writePlace(footer, { offset: noOrigins, length: 0, sum: 0 });
      footer.raw(idBuffer(id));
      footer.bytes[flagsAt]! |= footerFlags.named;
    }
    const { length } = footer;
    writeWord(footer, length);
    writeWord(footer, checksum(footer.bytes.subarray(0, length)));
    footer.raw(magic);
    this.write(footer.done());
    return this.at;
  }

  private endTrial(): void {
    const trial = this.trial;
    if (!trial) return;
    this.trial = undefined;
    this.trialBytes = 0;
    if (trial.length > 1 || (trial[0]?.batch.length ?? 0) >= statisticsRowsMin) {
      this.tryOut(trial.map(({ batch }) => batch));
      for (const dictionary of this.dictionaries.values()) dictionary.restart();
    }
    for (const { batch, keys } of trial) this.encode(batch, keys);
  }

  /** One block alone is coded once: what comes again is what was tried. */
  private tryOut(batches: readonly Vector[]): void {
    const tables: ObjectTables = {
      types: new TypeTable(),
      dictionaries: this.dictionaries,
      newer: () => undefined,
      trial: (dictionary, codes) => {
        if (batches.length === 1) dictionary.keepTried(codes);
      },
    };
    for (const batch of batches) encodeBlock(batch, tables, false);
  }

  private encode(batch: Vector, keys: BlockKeys): void {
    this.append(encodeBlock(batch, this.tables, this.statistics), keys);
  }
  private append(block: EncodedBlock, keys: BlockKeys): void {
    this.blocks.push({
      rows: block.rows,
      layout: this.layout(block),
      offset: this.at,
      dataLength: block.dataLength,
      directory: block.directory,
      keys,
    });
    this.directoryLength += block.directory.length + keys.first.length + keys.last.length + 8;
    this.writeAll(block.data);
  }

  private layout(block: EncodedBlock): number {
    const { layouts } = this;
    if (layouts.length > 0) {
      this.layoutNumbers ??= new Map([[layoutKey(layouts[0]), 0]]);
      const key = layoutKey(block.layout);
      const known = this.layoutNumbers.get(key);
      if (known !== undefined) return known;
      this.layoutNumbers.set(key, layouts.length);
    }
    if (this.limitsLevels && levelsOf(block.layout) > levelsMax)
      throw new LakeError('rows-nesting', { limit: levelsMax });
    writeLayout(this.layoutBytes, block.layout, this.types);
    return layouts.push(block.layout) - 1;
  }

  /** Undefined: there are none. */
  private dictionaryEntries(): ByteWriter | undefined {
    if (this.dictionaries.size === 0) return undefined;
    const out = new ByteWriter();
    out.uvarint(this.dictionaries.size);
    for (const dictionary of this.dictionaries.values()) {
      out.uvarint(dictionary.length);
      if (dictionary.length === 0) continue;
      const block = encodeBlock(dictionary.values(), { types: this.types, compress: this.compress }, false);
      out.uvarint(dictionary.type.id);
      out.uvarint(this.at / 8);
      out.uvarint(block.dataLength / 8);
      out.uvarint(block.directory.length);
      out.raw(block.directory);
      this.writeAll(block.data);
    }
    return out;
  }

  private blockEntries(footer: ByteWriter): void {
    footer.uvarint(this.blocks.length);
    for (const b of this.blocks) {
      footer.uvarint(b.rows);
      footer.uvarint(b.layout);
      footer.uvarint(b.offset / 8);
      footer.uvarint(b.dataLength / 8);
      footer.uvarint(b.directory.length);
      writeKey(footer, b.keys.first);
      writeKey(footer, b.keys.last);
    }
    for (const b of this.blocks) footer.raw(b.directory);
  }

  private origins(footer: ByteWriter, origins: Uint8Array): void {
    const bytes = new Uint8Array(Math.ceil(origins.length / 8) * 8);
    bytes.set(origins);
    writePlace(footer, { offset: this.at, length: origins.length, sum: checksum(origins) });
    this.write(bytes);
  }

  private writeAll(chunks: readonly Uint8Array[]): void {
    for (const chunk of chunks) this.write(chunk);
  }
  private write(chunk: Uint8Array): void {
    this.emit(chunk);
    this.at += chunk.length;
  }
}

/** Of a LEB128 number. */
const numberLength = (n: number): number => (n < 0x80 ? 1 : 1 + numberLength(Math.floor(n / 0x80)));
const writeWord = (out: ByteWriter, word: number): void => {
  for (let shift = 0; shift < 32; shift += 8) out.byte((word >>> shift) & 0xff);
};
const writePlace = (
  out: ByteWriter,
  { offset, length, sum }: { readonly offset: number; readonly length: number; readonly sum: number },
): void => {
  out.uvarint(offset / 8);
  out.uvarint(length);
  writeWord(out, sum);
};
const writeKey = (out: ByteWriter, key: Uint8Array): void => {
  out.uvarint(key.length);
  out.raw(key);
};
