/** The rows of objects as files of an Iceberg table: what columns they need, then the bytes, object by object. */
import type { RenderedFile, RenderedPart } from '../../iceberg/render.types.ts';
import { RenditionWriter } from '../../iceberg/rendition.ts';
import { Survey } from '../../iceberg/survey.ts';
import { type TableColumn, ColumnSet } from '../../iceberg/columns.ts';
import { FileColumns } from '../../iceberg/fit.ts';
import { newId } from '../../lake/ksuid.ts';
import type { ObjectSink, ObjectStore } from '../../lake/objects/objects.ts';
import type { ObjectReader } from '../../lake/objects/reader.ts';
import { working } from '../../vectors/stop.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { TaskRequest } from '../messages.ts';
import type { Task } from '../task.ts';
import { opened } from './rewrite-task.ts';

type RenderTask = Extract<TaskRequest, { kind: 'render' }>;

/** Writes one file with all of these objects, each a Parquet file of its own in there, or one of them all. */
export const runRender = async (
  task: Task,
  request: RenderTask,
  store: ObjectStore,
  files: ObjectStore,
): Promise<RenderedFile> => {
  const { objects, isMerged, mapping } = request;
  const sources: Source[] = objects.map((meta) => async () => opened(meta, store));
  const given = await surveyed(task, request, sources);
  const all = new ColumnSet(given.table, mapping);
  const file = newId();
  const sink = files.create(file);
  const parts: RenderedPart[] = [];
  try {
    let at = 0;
    const write = async (own: readonly Source[], ids: Iterable<number>): Promise<void> => {
      const figures = await writeParquet(task, own, sink, new FileColumns(all, ids));
      parts.push({ at, figures });
      at += figures.bytes;
    };
    if (isMerged) await write(sources, new Set(given.ids.flat()));
    else for (const [i, source] of sources.entries()) await write([source], given.ids[i] ?? []);
    task.signal.throwIfAborted();
  } catch (error) {
    await sink.abort();
    throw error;
  }
  await sink.close();
  return { file, columns: given.table.length, parts };
};

/** Bytes of objects that are kept in memory between their survey and their file. */
const keptBytesMax = 8 << 20;
/** The rows of an object: those that are in memory, or where they are read. */
type Source = readonly Vector[] | (() => Promise<ObjectReader>);

/** The table's columns, and the ids of those that each object is to have. Of many small objects, each is read once. */
const surveyed = async (
  task: Task,
  { objects, mapping, table }: RenderTask,
  sources: Source[],
): Promise<{ readonly table: readonly TableColumn[]; readonly ids: readonly (readonly number[])[] }> => {
  const areKept = objects.length > 1 && objects.reduce((n, { size }) => n + size, 0) <= keptBytesMax;
  for (let known = table; ; ) {
    const set = new ColumnSet(known, mapping);
    const surveys: Survey[] = [];
    for (const [i, source] of sources.entries()) {
      const survey = new Survey(set, known.length);
      const kept: Vector[] = [];
      await eachRows(task, source, (rows) => {
        survey.add(rows);
        if (areKept) kept.push(rows);
      });
      if (areKept) sources[i] = kept;
      surveys.push(survey);
    }
    const wanted = { known: known.length, objects: surveys.map((survey) => survey.columns()) };
    const given = await task.call({ kind: 'columns', wanted });
    if (given.objects) return { table: given.table, ids: given.objects };
    // Others were quicker, and there are more columns than before: it cannot go on for ever.
    known = given.table;
  }
};

const writeParquet = async (
  task: Task,
  sources: readonly Source[],
  sink: ObjectSink,
  columns: FileColumns,
): Promise<RenderedPart['figures']> => {
  const writer = new RenditionWriter(columns);
  const give = (pieces: Iterable<Uint8Array>): void => {
    for (const piece of pieces) sink.write(piece);
  };
  const add = (rows: Vector): void => {
    give(writer.add(rows));
  };
  for (const source of sources) {
    writer.next();
    await eachRows(task, source, add);
  }
  working(task.signal, () => {
    give(writer.end());
  });
  await task.breathe();
  return writer.figures();
};

const eachRows = async (task: Task, source: Source, take: (rows: Vector) => void): Promise<void> => {
  if (typeof source === 'function') await eachBlock(task, await source(), take);
  else
    working(task.signal, () => {
      source.forEach(take);
    });
};
const eachBlock = async (task: Task, reader: ObjectReader, take: (rows: Vector) => void): Promise<void> => {
  for (let block = 0; block < reader.blocks.length; block++) {
    const rows = await reader.read(block);
    working(task.signal, () => {
      take(rows);
    });
    await task.breathe();
  }
};
