/**
 * Where the results of `lake query` go: standard output, a file, or a folder with a file for each type (or of a certain
 * size).
 */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join, resolve as resolvePath } from 'node:path';
import { ConfigError } from '../config/options.ts';
import type { QueryOptions } from '../config/tables.ts';
import { endingOf, isBinaryFormat } from '../format-names.ts';
import { type FormatName, type WriteOptions, type Writer, createWriter } from '../formats/formats.ts';
import { Uint32List } from '../vectors/lists.ts';
import type { RecordType, Type } from '../vectors/type.ts';
import { type Vector, dataAt, take, typeAt } from '../vectors/vector.ts';
import { formatNamed } from './format-options.ts';
import type { CommandIo } from './io.ts';

/** Where batches of results are written. */
interface Output {
  readonly write: (batch: Vector) => Promise<void>;
  /** Ends the format and closes files. `rowType`: of the rows, if it is known. */
  readonly end: (rowType?: RecordType) => Promise<void>;
}

/**
 * The output that the options ask for. Nothing is opened before the first batch or the end. @throws ConfigError, Error
 */
export const outputOf = (options: QueryOptions, io: CommandIo, turn: Turn = (work) => work()): Output => {
  const format = formatOf(options, io);
  const layout = layoutOf(options);
  const file = options.values['o'];
  const folder = options.values['split'];
  const sizeMin = options.values['splitsize'];
  if (folder !== '')
    return new SplitOutput({ format, layout, folder: resolvePath(io.cwd, folder), prefix: file, sizeMin });
  if (sizeMin > 0) throw new ConfigError('-splitsize needs -split');
  if (file !== '') return single(createWriter(format, layout), new OutputFile(resolvePath(io.cwd, file)), turn);
  if (io.stdoutIsTerminal && isBinaryFormat(format) && !options.values['B']) {
    throw new Error(`${format} is binary: it goes to a terminal only with -B (or use -s for SUP, -o for a file)`);
  }
  return single(createWriter(format, layout), { write: io.write, close: () => undefined }, turn);
};

export const formatOf = (options: QueryOptions, io: CommandIo): FormatName => {
  const { j, J, s, S } = options.values;
  const json = j || J;
  const sup = s || S;
  if (json && (options.given.has('f') || sup)) throw new Error('cannot use -j or -J with -f, -s, or -S');
  if (sup && options.given.has('f')) throw new Error('cannot use -s or -S with -f');
  const named = options.values['f'];
  const format = json
    ? 'json'
    : sup
      ? 'sup'
      : named !== ''
        ? named
        : io.stdoutIsTerminal && options.values['o'] === ''
          ? 'sup'
          : 'bsup';
  return formatNamed(format);
};

const layoutOf = (options: QueryOptions): WriteOptions => {
  const { j, J, s, S, pretty, noheader, persist } = options.values;
  return {
    pretty: j || s ? 0 : J || S ? 2 : pretty,
    noHeader: noheader,
    csvDelimiter: ',',
    optFlags: true,
    bsupCompress: options.values['bsup.compress'],
    bsupFrameBytes: options.values['bsup.framethresh'],
    ...(persist !== '' && { persist }),
  };
};

/** Where bytes go. */
interface Sink {
  readonly write: (chunk: Uint8Array) => Promise<void>;
  readonly close: () => void;
}

/** Does a piece of the query's work, which awaits nothing. */
type Turn = <T>(work: () => T) => T;

const single = (writer: Writer, sink: Sink, turn: Turn): Output => ({
  write: async (batch) => {
    const chunks = writer.write(batch)[Symbol.iterator]();
    const next = (): IteratorResult<Uint8Array> => chunks.next();
    for (let chunk = turn(next); !chunk.done; chunk = turn(next)) await sink.write(chunk.value);
  },
  end: async (rowType) => {
    for (const chunk of writer.end(rowType)) await sink.write(chunk);
    sink.close();
  },
});

class OutputFile implements Sink {
  private readonly fd: number;
  bytes = 0;
  constructor(path: string) {
    this.fd = openSync(path, 'w');
  }
  readonly write = (chunk: Uint8Array): Promise<void> => {
    for (let at = 0; at < chunk.length; ) at += writeSync(this.fd, chunk, at);
    this.bytes += chunk.length;
    return Promise.resolve();
  };
  readonly close = (): void => {
    closeSync(this.fd);
  };
}

interface SplitOptions {
  readonly format: FormatName;
  readonly layout: WriteOptions;
  readonly folder: string;
  readonly prefix: string;
  readonly sizeMin: number;
}
interface Part {
  readonly output: Output;
  readonly file: OutputFile;
}

/** Most files that are written at once. */
const partsMax = 512;

/**
 * With a size: one file after another, each ended behind the batch that brings it to the size. Else one file for each
 * type of value. Names: `PREFIX-N.EXT` with -o PREFIX; the record's `_path` if it has one; else `N.EXT`.
 */
class SplitOutput implements Output {
  private readonly options: SplitOptions;
  private readonly byType = new Map<Type, Part>();
  private current: Part | undefined;
  private count = 0;
  private readonly names = new Set<string>();

  constructor(options: SplitOptions) {
    this.options = options;
  }

  readonly write = async (batch: Vector): Promise<void> => {
    if (this.options.sizeMin > 0) return this.bySize(batch);
    const rowsOf = new Map<Type, Uint32List>();
    for (let i = 0; i < batch.length; i++) {
      const type = typeAt(batch, i);
      let rows = rowsOf.get(type);
      if (!rows) rowsOf.set(type, (rows = new Uint32List()));
      rows.push(i);
    }
    for (const [type, rows] of rowsOf) {
      const values = take(batch, rows.done());
      let part = this.byType.get(type);
      if (!part) {
        if (this.byType.size >= partsMax)
          throw new Error(`-split: more than ${partsMax} types (use -splitsize, or fuse the values)`);
        this.byType.set(type, (part = this.open(type, values)));
      }
      await part.output.write(values);
    }
  };

  readonly end = async (): Promise<void> => {
    for (const part of this.byType.values()) await part.output.end();
    await this.current?.output.end();
  };

  private async bySize(batch: Vector): Promise<void> {
    this.current ??= this.open();
    await this.current.output.write(batch);
    if (this.current.file.bytes < this.options.sizeMin) return;
    await this.current.output.end();
    this.current = undefined;
  }

  private open(type?: Type, values?: Vector): Part {
    const { format, layout, folder } = this.options;
    mkdirSync(folder, { recursive: true });
    const file = new OutputFile(join(folder, this.name(type, values)));
    return { file, output: single(createWriter(format, layout), file, (work) => work()) };
  }

  private name(type?: Type, values?: Vector): string {
    const { format, prefix } = this.options;
    const ending = endingOf(format);
    const path = prefix === '' && type?.kind === 'record' && values ? pathField(type, values) : undefined;
    const base = path ?? (prefix === '' ? String(this.count) : `${prefix}-${this.count}`);
    this.count++;
    let name = `${base}${ending}`;
    for (let n = 1; this.names.has(name); n++) name = `${base}-${n}${ending}`;
    this.names.add(name);
    return name;
  }
}

/** The text of `_path` of the first value, as far as it can be a file's name. */
const pathField = (type: Extract<Type, { kind: 'record' }>, values: Vector): string | undefined => {
  const at = type.fields.findIndex((f) => f.name === '_path');
  const data = at < 0 ? undefined : (dataAt(values, 0) as readonly unknown[])[at];
  return typeof data === 'string' && /^[\w-][\w.-]*$/.test(data) ? data : undefined;
};
