/** The rows of objects as files of an Iceberg table: what columns they need, then the bytes, object by object. */
import type { RenderedFile, RenderedPart } from '../../iceberg/render.types.ts';
import { RenditionWriter } from '../../iceberg/rendition.ts';
import { Survey } from '../../iceberg/survey.ts';
import type { TableColumn } from '../../iceberg/columns.ts';
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
  for (const meta of objects) {
    const survey = new Survey(table);
    await eachBlock(task, await opened(meta, store), (rows) => {
      survey.add(rows);
    });
    wanted.push(survey.columns());
  }
  const given = await task.call({ kind: 'columns', wanted: { known: table.length, objects: wanted } });
  const file = newId();
  const sink = files.create(file);
  const parts: RenderedPart[] = [];
  try {
    let at = 0;
    for (const [i, meta] of objects.entries()) {
      const figures = await writeObject(task, await opened(meta, store), sink, given.table, given.objects[i] ?? []);
      parts.push({ object: meta.id, at, figures });
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

const writeObject = async (
  task: Task,
  reader: ObjectReader,
  sink: ObjectSink,
  table: readonly TableColumn[],
  used: readonly number[],
): Promise<RenderedPart['figures']> => {
  const writer = new RenditionWriter(table, used);
  const give = (pieces: Iterable<Uint8Array>): void => {
    for (const piece of pieces) sink.write(piece);
  };
  await eachBlock(task, reader, (rows) => {
    give(writer.add(rows));
  });
  working(task.signal, () => {
    give(writer.end());
  });
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
