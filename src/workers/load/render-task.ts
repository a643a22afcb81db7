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

/** Writes one file with all of these objects, each a Parquet file of its own in there. */
export const runRender = async (
  task: Task,
  { objects, table }: RenderTask,
  store: ObjectStore,
  files: ObjectStore,
): Promise<RenderedFile> => {
  const wanted: (readonly TableColumn[])[] = [];
  const sources: Source[] = [];
  const known = new ColumnSet(table);
  for (const meta of objects) {
    const survey = new Survey(known, table.length);
    // Of many, which are small, each is read once.
    const kept: Vector[] = [];
    await eachBlock(task, await opened(meta, store), (rows) => {
      survey.add(rows);
      if (objects.length > 1) kept.push(rows);
    });
    wanted.push(survey.columns());
    sources.push(objects.length > 1 ? kept : async () => opened(meta, store));
  }
  const given = await task.call({ kind: 'columns', wanted: { known: table.length, objects: wanted } });
  const all = new ColumnSet(given.table);
  const file = newId();
  const sink = files.create(file);
  const parts: RenderedPart[] = [];
  try {
    let at = 0;
    for (const [i, { id }] of objects.entries()) {
      const figures = await writeObject(task, sources[i] ?? [], sink, new FileColumns(all, given.objects[i] ?? []));
      parts.push({ object: id, at, figures });
      at += figures.bytes;
    }
    task.signal.throwIfAborted();
  } catch (error) {
    await sink.abort();
    throw error;
  }
  await sink.close();
  return { file, columns: given.table.length, parts };
};

/** The rows of an object: those that are in memory, or where they are read. */
type Source = readonly Vector[] | (() => Promise<ObjectReader>);

const writeObject = async (
  task: Task,
  source: Source,
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
  if (typeof source === 'function') await eachBlock(task, await source(), add);
  working(task.signal, () => {
    if (typeof source !== 'function') source.forEach(add);
    give(writer.end());
  });
  await task.breathe();
  return writer.figures();
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
