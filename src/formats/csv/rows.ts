/**
 * Rows of cells between delimiters, straight from bytes. A row is scanned to its end before its cells go to the
 * builders, so that a row that the window cuts leaves no trace.
 *
 * Quotes: where a cell has any, they toggle quoting wherever they stand, two within quotes are one, and none is kept;
 * so stray quotes vanish as in the reference. White space before a cell goes, between tabs only before a cell with
 * quotes; what is within quotes stays as it is, line breaks too (the reference drops the white space that a quoted cell
 * begins with, and the carriage returns before line breaks in it). Blank lines are skipped; a carriage return before
 * the line break that ends a row belongs to it.
 */
import { LakeError } from '../../errors.ts';
import { Builder, type Shape, partsMade, shapeOf } from '../../vectors/builder.ts';
import { componentsMax } from '../../vectors/type.ts';
import { packVectors } from '../../vectors/transfer.ts';
import type { Vector } from '../../vectors/vector.ts';
import { Batches } from '../batches.ts';
import {
  type BlockHelper,
  type BlockParser,
  type Progress,
  blockBytesMax,
  blockPartsMax,
  lineCut,
  readBlocks,
  sequentialBytes,
} from '../blocks.ts';
import { ByteWindow } from '../byte-window.ts';
import { Faults, isOverlong } from '../faults/faults.ts';
import { type ReadOptions, readLimits } from '../format.types.ts';
import { textOf } from '../text-cell.ts';
import { appendCell, appendSpacedCell } from './cells.ts';
import { RowScanner } from './row-scanner.ts';
import { isSpaceStart } from './spaces.ts';

interface Dialect {
  readonly format: 'csv' | 'tsv';
  readonly delimiter: string;
}
/** Rows and lines before the input; the columns, if the header was read. */
interface Start {
  readonly values: number;
  readonly lines: number;
  readonly offset: number;
  readonly shape?: Shape;
}

/** Batches of the rows; long inputs are read in blocks, if there is help. */
export async function* readDelimited(
  input: AsyncIterable<Uint8Array>,
  options: ReadOptions,
  dialect: Dialect,
  linesBefore = 0,
): AsyncGenerator<Vector> {
  const start = { values: 0, lines: 1 + linesBefore, offset: 0 };
  const stopped = yield* readInSequence(input, options, dialect, start, options.helper);
  if (!stopped) return;
  const { progress, rest, helper, shape } = stopped;
  const wrong = yield* readBlocks(
    rest,
    progress,
    {
      parser: delimitedBlocks({ ...dialect, names: shape.names, bends: options.errors !== undefined }),
      cut: unquotedCut,
      copied: options.copied,
    },
    helper,
  );
  if (wrong) yield* readInSequence(wrong.rest, options, dialect, { ...wrong, shape }, undefined);
}

interface Handover {
  readonly progress: Progress;
  readonly rest: AsyncIterable<Uint8Array>;
  readonly helper: BlockHelper;
  readonly shape: Shape;
}

/** Reads to the end; or, if there is a helper, until the input has proved long. */
async function* readInSequence(
  input: AsyncIterable<Uint8Array>,
  options: ReadOptions,
  dialect: Dialect,
  { values, lines, offset, shape: known }: Start,
  help: ReadOptions['helper'],
): AsyncGenerator<Vector, Handover | undefined> {
  const limits = readLimits(options);
  const window = new ByteWindow(input, { format: dialect.format, valueBytesMax: limits.valueBytesMax, offset });
  const row = new RowScanner(dialect.delimiter);
  const rows = new Rows();
  const batches = new Batches(limits.batchRows);
  const faults = Faults.of(options);
  const bends = faults !== undefined;
  row.nextLine = lines;
  let shape = known;
  let handed = false;
  let alone = !help || limits.valueBytesMax < blockBytesMax;
  const broken = (fault: string, isOfCut = false): LakeError =>
    new LakeError('format-broken', {
      format: dialect.format,
      fault,
      place: '',
      values: values + batches.rows,
      ...(isOfCut && { cut: dialect.format }),
    });
  const more = async (): Promise<boolean> => {
    try {
      return await window.more();
    } catch (problem) {
      if (!faults || !shape || !isOverlong(problem) || !row.hasLine(window)) throw problem;
      row.leaveOut(window, 'quote not closed', faults, batches);
      return true;
    }
  };
  try {
    while (await more()) {
      for (;;) {
        if (faults?.isDue()) yield batches.take();
        const state = row.next(window);
        if (state === 'cut' || state === 'none') break;
        const isOfCut = options.isCut === true && (state === 'open' ? isCellCut(window) : isCutOff(window));
        const fault =
          faults && shape && !isOfCut && row.isRunOn
            ? 'quote not closed'
            : row.fault(state, { wanted: shape?.names.length, strictQuotes: options.strictQuotes === true });
        if (fault !== undefined) {
          if (!faults || !shape || isOfCut) throw broken(`record on line ${row.line}: ${fault}`, isOfCut);
          row.leaveOut(window, fault, faults, batches);
        } else if (!shape) {
          shape = headerOf(row, broken);
          continue;
        } else {
          rows.append(row, shape, batches.begin());
          batches.end(row.size);
        }
        if (batches.isFull) yield batches.take();
      }
      const count = values + batches.rows;
      if (alone || !shape || count === 0 || window.final || window.offset + window.start < sequentialBytes) continue;
      alone = true;
      const helper = await help?.({ ...dialect, names: shape.names, bends });
      if (!helper) continue;
      handed = true;
      if (!batches.isEmpty) yield batches.take();
      return {
        progress: { values: count, lines: row.nextLine, offset: window.offset + window.start, lineStart: 0 },
        rest: window.rest(),
        helper,
        shape,
      };
    }
    if (values + batches.rows === 0 && !faults?.isAny)
      throw broken(`empty ${dialect.format} file`, options.isCut === true && shape !== undefined);
  } catch (problem) {
    if (!batches.isEmpty) yield batches.take();
    throw problem;
  } finally {
    if (!handed) await window.close();
  }
  if (!batches.isEmpty) yield batches.take();
  return undefined;
}

/** Whether the record that was read last ends with the input, amid its line. */
const isCutOff = ({ final, start, end, bytes }: ByteWindow): boolean =>
  final && start === end && end > 0 && bytes[end - 1] !== 0x0a;

/**
 * Whether the end of a part of an input is in a cell in quotes. Where a cell is longer than people write them, a quote
 * that nobody closes took the rest.
 */
const isCellCut = ({ start, end }: ByteWindow): boolean => end - start <= cutRowBytesMax;
const cutRowBytesMax = 64 << 10;

/** Cuts behind the last line break that is not within quotes: each quote toggles, wherever it stands. */
const unquotedCut = (bytes: Uint8Array, length: number): number => {
  const first = bytes.indexOf(0x22);
  if (first < 0 || first >= length) return lineCut(bytes, length);
  let last = first === 0 ? 0 : lineCut(bytes, first);
  let inside = false;
  for (let i = first; i < length; i++) {
    const c = bytes[i];
    if (c === 0x22) inside = !inside;
    else if (c === 0x0a && !inside) last = i + 1;
  }
  return last;
};

/** After so many blocks the storage is made again: what only some of them needed goes. */
const blocksPerBuilder = 64;

/** Reads blocks of whole rows behind the header. */
export const delimitedBlocks = ({
  delimiter,
  names,
  bends,
}: {
  readonly delimiter: string;
  readonly names: readonly string[];
  readonly bends: boolean;
}): BlockParser => {
  const row = new RowScanner(delimiter);
  const shape = shapeOf(names.map((name) => ({ name })));
  const rows = new Rows();
  let builder = new Builder();
  let blocks = 0;
  let parts = 0;
  const anew = (): undefined => {
    builder = new Builder();
    parts = 0;
    return undefined;
  };
  return (bytes, length) => {
    const window = { bytes, start: 0, end: length, final: false };
    if (++blocks % blocksPerBuilder === 0 || parts > blockPartsMax) anew();
    const mark = partsMade();
    row.nextLine = 0;
    for (;;) {
      const state = row.next(window);
      if (state === 'none') break;
      if (state !== 'row' || row.length !== names.length || (bends && row.isRunOn)) return anew();
      rows.append(row, shape, builder);
      if (partsMade() - mark > blockPartsMax) return anew();
    }
    parts += partsMade() - mark;
    const { length: count } = builder;
    return {
      batches: builder.lend((v) => packVectors(count > 0 ? [v] : [])),
      rows: count,
      lines: row.nextLine,
      tail: 0,
    };
  };
};

const headerOf = (row: RowScanner, broken: (fault: string) => LakeError): Shape => {
  const names: string[] = [];
  const seen = new Set<string>();
  if (row.length > componentsMax) throw broken(`line ${row.line}: more than ${componentsMax} columns`);
  for (let i = 0; i < row.length; i++) {
    const { bytes, start, end } = row.cell(i);
    const name = textOf(bytes, start, end);
    if (seen.has(name)) throw broken(`duplicate field: "${name}"`);
    seen.add(name);
    names.push(name);
  }
  return shapeOf(names.map((name) => ({ name })));
};

/** Appends rows of one shape. */
class Rows {
  private builder: Builder | undefined;
  private tag = -1;

  append(row: RowScanner, shape: Shape, builder: Builder): void {
    if (this.builder !== builder) {
      this.builder = builder;
      this.tag = builder.recordTag(shape);
    }
    const record = builder.beginRecord(this.tag);
    const { fields } = record;
    for (let i = 0; i < fields.length; i++) {
      if (row.plain) appendCell(fields[i], row.bytes, row.starts[i], row.ends[i]);
      else {
        const { bytes, start, end } = row.cell(i);
        if (row.isQuoted(i) && isSpaceStart(bytes[start])) appendSpacedCell(fields[i], bytes, start, end);
        else appendCell(fields[i], bytes, start, end);
      }
    }
    record.end();
  }
}
