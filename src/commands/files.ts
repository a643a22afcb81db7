/**
 * Files, URLs and standard input as sources of a query that runs without a lake. A path is opened again for each scan;
 * standard input can be read once, what was sampled of it before compiling is kept and read first.
 */
import type { InputForm } from './format-options.ts';
import { createReadStream, existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve as resolvePath } from 'node:path';
import { LakeError, messageOf } from '../errors.ts';
import { decoded } from '../formats/codings/encoding.ts';
import { type FormatLimits, type FormatName, formatOfFile, isFormatName, openReader } from '../formats/formats.ts';
import { ReadMemory } from '../formats/read-memory.ts';
import type { ScratchBytes } from '../formats/spool.ts';
import type { ResolvedSource, SourceRequest } from '../query/plan/plan.ts';
import { Fusion } from '../vectors/fuse.ts';
import type { Type } from '../vectors/type.ts';
import { type Vector, slice, typeAt } from '../vectors/vector.ts';
import { openUrl } from '../workers/from/http.ts';
import { type HttpPolicy, allowedUrl } from '../workers/from/policy.ts';

const standardInput = 'stdio:stdin';
/** The name under which the paths of the command line are one source. */
export const commandLineSource = '(command line)';

/** What a query without a lake may read, and how. */
interface FileOptions {
  readonly cwd: string;
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly paths: readonly string[];
  /** Format of command-line inputs; `auto` goes by the ending, then by the bytes. */
  readonly format: FormatName | 'auto';
  readonly form: InputForm;
  readonly readLimits: FormatLimits;
  /** What the reader of one input may hold. */
  readonly memoryBytesMax: number;
  readonly scratch: () => ScratchBytes;
  /** Values read of each input to know its type before compiling; 0: none. */
  readonly sampleRows: number;
  readonly batchRows: number;
  /** Which URLs may be read. */
  readonly http: HttpPolicy;
  /** false: an input that cannot be read is reported and left out. */
  readonly stopOnError: boolean;
  readonly complain: (text: string) => void;
  /** Called when bytes were read. */
  readonly came?: () => void;
}

/** `size`: of a file, when it was named; `read`: since it was last opened. */
interface Input {
  readonly name: string;
  readonly format: FormatName | 'auto';
  readonly bytes: () => AsyncIterable<Uint8Array>;
  readonly size?: number;
  read: number;
}

/** The sources that a query names, by the handles given out for them. */
export class FileSources {
  private readonly options: FileOptions;
  private readonly inputs: (readonly Input[])[] = [];
  private isStdinNamed = false;
  private readonly sampled = new Map<Input, { readonly batches: Vector[]; readonly rest: AsyncIterator<Vector> }>();

  constructor(options: FileOptions) {
    this.options = options;
  }

  async resolve(request: SourceRequest): Promise<readonly ResolvedSource[]> {
    const inputs = this.inputsOf(request);
    if (request.kind === 'name' && request.name === commandLineSource)
      return [await this.give(inputs, commandLineSource, 'file')];
    const kind = request.kind === 'url' ? 'url' : 'file';
    return Promise.all(inputs.map((input) => this.give([input], input.name, kind)));
  }

  /** Whether the query has named standard input so far. */
  get namesStdin(): boolean {
    return this.isStdinNamed;
  }

  /** Bytes of all inputs that were read, and their size if it is known of all. */
  progress(): { readonly bytes: number; readonly total?: number } {
    const all = new Set(this.inputs.flat());
    let bytes = 0;
    let total: number | undefined = 0;
    for (const { read, size } of all) {
      bytes += read;
      total = total === undefined || size === undefined ? undefined : total + size;
    }
    return { bytes, ...(total !== undefined && { total }) };
  }

  /** Batches of a source, its inputs one after another. */
  async *scan(source: ResolvedSource): AsyncGenerator<Vector> {
    for (const input of this.inputs[Number(source.handle)]) yield* this.read(input);
  }

  /** Opens what a row-dependent `from` names. */
  async *open(name: string, format: string | undefined): AsyncGenerator<Vector> {
    for (const input of this.inputsOf({ kind: 'name', name, ...(format && { format }) })) yield* this.read(input);
  }

  private async give(inputs: readonly Input[], name: string, kind: 'file' | 'url'): Promise<ResolvedSource> {
    const handle = String(this.inputs.push(inputs) - 1);
    const type = kind === 'file' && this.options.sampleRows !== 0 ? await this.sampleAll(inputs) : undefined;
    return { kind, name, handle, ...(type && { type }) };
  }

  private inputsOf(request: SourceRequest): readonly Input[] {
    switch (request.kind) {
      case 'name':
        if (request.name === commandLineSource)
          return this.options.paths.map((path) => this.input(path, this.options.format));
        return [this.input(request.name, checkedFormat(request.format))];
      case 'url':
        return [this.urlInput(request, checkedFormat(request.format))];
      case 'glob': {
        const names = this.expand(request.pattern);
        if (names.length === 0) throw new LakeError('source-glob-empty');
        return names.map((name) => this.input(name, checkedFormat(request.format)));
      }
      case 'regexp':
        throw new LakeError('source-regexp-files');
      case 'lakeMeta':
        throw new LakeError('source-meta-files', { meta: request.meta });
    }
  }

  private input(name: string, format: FormatName | 'auto'): Input {
    if (name === '-' || name === standardInput) {
      this.isStdinNamed = true;
      return { name: standardInput, format, bytes: () => this.options.stdin, read: 0 };
    }
    if (/^https?:\/\//.test(name)) return this.urlInput({ kind: 'url', url: name }, format);
    const path = resolvePath(this.options.cwd, name.replace(/^file:\/\//, ''));
    const stat = existsSync(path) ? statSync(path) : undefined;
    // Unless the input is sampled before compiling, a file that is not there is found out when it is read.
    if (!stat && this.options.sampleRows !== 0) throw new FileMissing(name);
    if (stat?.isDirectory()) throw new LakeError('source-directory', { path: name });
    return {
      name,
      format: format === 'auto' ? (formatOfFile(name) ?? 'auto') : format,
      bytes: () => fileBytes(name, path),
      ...(stat?.isFile() && { size: stat.size }),
      read: 0,
    };
  }

  /** What no option allows is told before anything is asked for. */
  private urlInput(request: Extract<SourceRequest, { kind: 'url' }>, format: FormatName | 'auto'): Input {
    const { http } = this.options;
    allowedUrl(request.url, http);
    async function* bytes(): AsyncGenerator<Uint8Array> {
      const { codings, bytes: coded } = await openUrl(request, { policy: http });
      yield* decoded(coded, { codings, bytesMax: Infinity });
    }
    return { name: request.url, format, bytes, read: 0 };
  }

  private async *read(input: Input): AsyncGenerator<Vector> {
    try {
      const kept = this.sampled.get(input);
      this.sampled.delete(input);
      if (kept) {
        yield* kept.batches;
        for (let next = await kept.rest.next(); !next.done; next = await kept.rest.next()) yield next.value;
      } else yield* await this.reader(input);
    } catch (problem) {
      if (this.options.stopOnError) throw named(input.name, problem);
      this.options.complain(`${named(input.name, problem).message}\n`);
    }
  }

  private reader(input: Input): Promise<AsyncIterable<Vector>> {
    const { form, readLimits, memoryBytesMax, scratch, batchRows } = this.options;
    return openReader(input.format, this.counted(input), {
      name: input.name,
      ...form,
      ...readLimits,
      memory: new ReadMemory(() => memoryBytesMax),
      scratch,
      batchRows,
    });
  }

  private async *counted(input: Input): AsyncGenerator<Uint8Array> {
    input.read = 0;
    for await (const chunk of input.bytes()) {
      input.read += chunk.length;
      this.options.came?.();
      yield chunk;
    }
  }

  /** The fused type of the first values of all inputs. What was read of standard input is kept for the scan. */
  private async sampleAll(inputs: readonly Input[]): Promise<Type | undefined> {
    let fused: Type | undefined;
    for (const input of inputs) fused = await this.sample(input, fused);
    return fused;
  }

  private async sample(input: Input, before: Type | undefined): Promise<Type | undefined> {
    try {
      let fused = before;
      let rows = 0;
      const most = this.options.sampleRows < 0 ? Infinity : this.options.sampleRows;
      const batches: Vector[] = [];
      const rest = (await this.reader(input))[Symbol.asyncIterator]();
      while (rows < most) {
        const next = await rest.next();
        if (next.done) break;
        batches.push(next.value);
        const sample = next.value.length > most - rows ? slice(next.value, 0, most - rows) : next.value;
        fused = fuseRows(sample, fused);
        rows += sample.length;
      }
      if (input.name === standardInput) this.sampled.set(input, { batches, rest });
      else await rest.return?.();
      return fused;
    } catch (problem) {
      throw named(input.name, problem);
    }
  }

  /** Names that match a glob; `*` stands for any run of characters but `/`. */
  private expand(pattern: string): readonly string[] {
    const parts = pattern.split('/');
    let found = [pattern.startsWith('/') ? '/' : ''];
    for (const part of parts.filter((p) => p !== '')) {
      const matcher = new RegExp(`^${part.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`);
      found = found.flatMap((folder) => {
        const path = resolvePath(this.options.cwd, folder);
        if (!existsSync(path) || !statSync(path).isDirectory()) return [];
        return readdirSync(path)
          .filter((name) => matcher.test(name))
          .sort()
          .map((name) => (folder === '' ? name : join(folder, name)));
      });
    }
    return found.filter((name) => statSync(resolvePath(this.options.cwd, name)).isFile());
  }
}

/** No such file: on the command line the name stands before the text, in a query the place of the source tells it. */
export class FileMissing extends Error {
  readonly file: string;
  constructor(file: string) {
    super('file does not exist');
    this.file = file;
  }
}

const fuseRows = (batch: Vector, before: Type | undefined): Type | undefined => {
  const fusion = new Fusion(before);
  let last: Type | undefined;
  for (let i = 0; i < batch.length; i++) {
    const type = typeAt(batch, i);
    if (type === last) continue;
    last = type;
    fusion.add(type);
  }
  return fusion.type;
};

/** An error of an input with the input's name before it. */
const named = (name: string, problem: unknown): Error => {
  const text = messageOf(problem);
  return new Error(text.startsWith(`${name}: `) ? text : `${name}: ${text}`, { cause: problem });
};

const checkedFormat = (format: string | undefined): FormatName | 'auto' => {
  if (format === undefined || format === 'auto') return 'auto';
  if (!isFormatName(format)) throw new LakeError('format-unknown', { format });
  return format;
};

/** Opened when the first byte is asked for, closed when the last was or nobody wants more. */
async function* fileBytes(name: string, path: string): AsyncGenerator<Uint8Array> {
  if (!existsSync(path)) throw new FileMissing(name);
  yield* createReadStream(path, { highWaterMark: 1 << 18 }) as AsyncIterable<Uint8Array>;
}
