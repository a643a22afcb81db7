/**
 * The columns of a table that holds rows of any shapes: one for each path of fields, in an order that keeps every
 * shape's own.
 *
 * - What is no record stands in the column `this`.
 * - A column of records unfolds into their fields, one of lists into their first elements; what is neither stays in the
 *   column itself.
 * - `byType`: a path with several types has a column for each.
 */
import { nameText, type Type, typeText } from '../../../../src/client/types.ts';
import { type Cell, fieldOf, partsOf, plain } from '../wire.ts';

/** A field's name, or the place of an element. */
type Step = string | number;
/** The way to a value from the row; empty: the row itself. */
export type Path = readonly Step[];
/** A column. `key` tells it from all others of the table. */
export interface Column {
  readonly key: string;
  /** Empty for `this`. */
  readonly path: Path;
  readonly title: string;
  /** Texts of the types of its values, the first seen first; null only where there is nothing else. */
  readonly types: readonly string[];
  /** Its values as one type alone, or whatever they are. */
  readonly only?: string;
  /** Whether it holds records or lists. */
  readonly nested: boolean;
  /** Key of the column that it unfolded from. */
  readonly parent?: string;
}
/** How the columns are made. */
export interface ColumnOptions {
  /** Keys of the paths that are unfolded. */
  readonly unfolded?: ReadonlySet<string>;
  readonly byType?: boolean;
  /** The longest list at a path, as far as known. */
  readonly lengthOf?: (path: Path) => number;
}

interface Node {
  readonly path: Path;
  readonly types: Map<string, Type>;
  readonly fields: Map<string, Node>;
  order: string[];
}
const nodeAt = (path: Path): Node => ({ path, types: new Map(), fields: new Map(), order: [] });

/** The key of a path. */
export const keyOf = (path: Path): string => JSON.stringify(path);
/** The path as a query writes it. */
export const pathText = (path: Path): string => {
  if (path.length === 0) return 'this';
  return path
    .map((step, i) => {
      if (typeof step === 'number') return `[${step}]`;
      const bare = nameText(step) === step;
      return i === 0
        ? bare
          ? step
          : `this[${JSON.stringify(step)}]`
        : bare
          ? `.${step}`
          : `[${JSON.stringify(step)}]`;
    })
    .join('');
};

/** The columns for rows of these types. */
export const columnsOf = (types: readonly Type[], options: ColumnOptions = {}): readonly Column[] => {
  const root = nodeAt([]);
  for (const type of types) note(root, type);
  const bare: Node = { ...nodeAt([]), types: new Map([...root.types].filter(([, type]) => !isRecord(type))) };
  return [
    ...(bare.types.size === 0 ? [] : columnsAt(bare, options, undefined)),
    ...root.order.flatMap((name) => columnsAt(root.fields.get(name)!, options, undefined)),
  ];
};

const isRecord = (type: Type): boolean => inner(type).kind === 'record';
const isNested = (type: Type): boolean => ['record', 'array', 'set', 'map'].includes(inner(type).kind);
const inner = (type: Type): Type => (type.kind === 'named' ? inner(type.type) : type);

/** Adds a type to what stands at a path. */
const note = (node: Node, type: Type): void => {
  const value = inner(type);
  if (value.kind === 'union') {
    for (const member of value.types) note(node, member);
    return;
  }
  node.types.set(typeText(type), type);
  if (value.kind !== 'record') return;
  node.order = orderWith(node.order, value.fields);
  for (const { name, type: own } of value.fields) {
    let child = node.fields.get(name);
    if (!child) node.fields.set(name, (child = nodeAt([...node.path, name])));
    note(child, own);
  }
};
/** The names with those of another type: each before the next that both have; what comes behind all of these goes to the end. */
const orderWith = (order: readonly string[], fields: readonly { readonly name: string }[]): string[] => {
  const known = new Set(order);
  const before = new Map<string, string[]>();
  let fresh: string[] = [];
  for (const { name } of fields) {
    if (!known.has(name)) fresh.push(name);
    else if (fresh.length > 0) {
      before.set(name, fresh);
      fresh = [];
    }
  }
  return [...(before.size === 0 ? order : order.flatMap((name) => [...(before.get(name) ?? []), name])), ...fresh];
};

const columnsAt = (node: Node, options: ColumnOptions, parent: string | undefined): readonly Column[] => {
  const key = keyOf(node.path);
  const isOpen = options.unfolded?.has(key) ?? false;
  if (!isOpen) return ownColumns(node, options, parent);
  const rest: Node = { ...node, types: new Map([...node.types].filter(([, type]) => !isNested(type))) };
  const lists = [...node.types.values()].map(inner).filter((type) => type.kind === 'array' || type.kind === 'set');
  const elements =
    lists.length === 0
      ? []
      : Array.from({ length: options.lengthOf?.(node.path) ?? 0 }, (_, i) => {
          const child = nodeAt([...node.path, i]);
          for (const list of lists) note(child, list.type);
          return child;
        });
  const children = [...node.order.map((name) => node.fields.get(name)!), ...elements].flatMap((child) =>
    columnsAt(child, options, key),
  );
  // An empty record or list has nothing to unfold into: the column stays.
  return children.length === 0
    ? ownColumns(node, options, parent)
    : [...(rest.types.size > 0 && !onlyNull(rest) ? ownColumns(rest, options, key) : []), ...children];
};

const onlyNull = (node: Node): boolean => [...node.types.keys()].every((text) => text === 'null');

const ownColumns = (node: Node, options: ColumnOptions, parent: string | undefined): readonly Column[] => {
  const all = [...node.types.keys()];
  const texts = all.length > 1 ? all.filter((text) => text !== 'null') : all;
  const key = keyOf(node.path);
  const base = {
    path: node.path,
    title: node.path.length === 0 ? 'this' : titleOf(node.path),
    ...(parent !== undefined && { parent }),
  };
  if (!options.byType || texts.length < 2)
    return [{ ...base, key, types: texts, nested: [...node.types.values()].some(isNested) }];
  return texts.map((text) => ({
    ...base,
    key: `${key} ${text}`,
    types: [text],
    only: text,
    nested: isNested(node.types.get(text)!),
  }));
};

/** A title is shorter than what a query writes: names stand as they are. */
const titleOf = (path: Path): string =>
  path.map((step, i) => (typeof step === 'number' ? `[${step}]` : `${i > 0 ? '.' : ''}${step}`)).join('');

/** The value in a column; undefined where the row has none there. */
export const cellAt = (row: Cell, { path, only }: Pick<Column, 'path' | 'only'>): Cell | undefined => {
  let cell: Cell | undefined = row;
  if (path.length === 0 && plain(row).type.kind === 'record') return undefined;
  for (const step of path) {
    cell = typeof step === 'string' ? fieldOf(cell, step) : elementOf(cell, step);
    if (!cell) return undefined;
  }
  return only === undefined || typeText(memberOf(cell).type) === only ? cell : undefined;
};

const elementOf = (cell: Cell, place: number): Cell | undefined => {
  const { kind } = plain(cell).type;
  return kind === 'array' || kind === 'set' ? partsOf(cell)[place]?.cell : undefined;
};
/** Without unions, with names: as the columns know it. */
const memberOf = (cell: Cell): Cell => {
  let { type, json } = cell;
  while (type.kind === 'union') {
    if (json === null) return { ...cell, type: { kind: 'primitive', name: 'null' }, json };
    const [tag, value] = json as readonly [unknown, unknown];
    type = type.types[Number(tag)];
    json = value;
  }
  return { ...cell, type, json };
};
