/** Functions that take records apart and put them together. */
import {
  type RecordType,
  type Type,
  arrayType,
  quoteName,
  quoteText,
  types,
  typeText,
  underType,
} from '../../../vectors/type.ts';
import { levelsMax } from '../../../vectors/type-limits.ts';
import { charge, checkStop } from '../../../vectors/stop.ts';
import {
  type Data,
  type Value,
  arrayValue,
  missing,
  nullValue,
  recordValue,
  underValue,
  wrappedError,
  fieldsData,
  itemsData,
  stringData,
  typeData,
} from '../../../vectors/value.ts';
import { type FlatVector, type RecordVector, flatten } from '../../../vectors/vector.ts';
import { original, repeat, wrapErrors } from '../../expressions/rows.ts';
import { byKernel, byValues, originalValue, type FunctionRow, type Kernel } from '../row.ts';

/** The named child of a record, by the type. */
const recordUnder = (type: Type): RecordType | undefined => {
  const t = underType(type);
  return t.kind === 'record' ? t : undefined;
};

// fields

/** Of a list, and of each name in it, about. */
const pathBytes = 24;
const leafPaths = (type: RecordType, prefix: readonly string[], out: (readonly string[])[]): (readonly string[])[] => {
  for (const f of type.fields) {
    const child = recordUnder(f.type);
    if (child) {
      leafPaths(child, [...prefix, f.name], out);
      continue;
    }
    // A short text may name a type of 2^40 paths.
    checkStop();
    charge(pathBytes * (prefix.length + 2), 'paths of fields');
    out.push([...prefix, f.name]);
  }
  return out;
};
const pathLists = arrayType(arrayType(types.string));
const fields = (v: Value): Value => {
  if (v.type === types.null) return nullValue;
  const record = recordUnder(v.type === types.type ? typeData(v.data) : v.type);
  return record ? { type: pathLists, data: leafPaths(record, [], []) } : missing;
};

// flatten, unflatten

const pathValue = (path: readonly string[]): Value => ({ type: arrayType(types.string), data: [...path] });
const leaves = (
  type: RecordType,
  data: readonly (Data | undefined)[],
  prefix: readonly string[],
  out: Value[],
): Value[] => {
  type.fields.forEach((f, i) => {
    const d = data[i];
    if (d === undefined) return;
    const child = recordUnder(f.type);
    const path = [...prefix, f.name];
    if (child) leaves(child, fieldsData(d), path, out);
    else
      out.push(
        recordValue([
          { name: 'key', value: pathValue(path) },
          { name: 'value', value: { type: f.type, data: d } },
        ]),
      );
  });
  return out;
};
const flattenValue = (v: Value): Value => {
  const record = recordUnder(v.type);
  return record ? arrayValue(leaves(record, fieldsData(v.data), [], [])) : originalValue(v);
};

/** A record in the making: names in order of their first mention. */
type Tree = Map<string, Value | Tree>;
const isTree = (node: Value | Tree | undefined): node is Tree => node instanceof Map;
const treeValue = (tree: Tree): Value =>
  recordValue([...tree].map(([name, node]) => ({ name, value: isTree(node) ? treeValue(node) : node })));

const keyPath = (key: Value): readonly string[] | undefined => {
  const k = underValue(key);
  if (k.type === types.string) return [stringData(k.data)];
  return k.type.kind === 'array' && k.type.element === types.string ? (k.data as readonly string[]) : undefined;
};
const fieldNamed = (record: Value, name: string): Value | undefined => {
  if (record.type.kind !== 'record') return undefined;
  const i = record.type.fields.findIndex((f) => f.name === name);
  const d = fieldsData(record.data)[i];
  return i < 0 || d === undefined ? undefined : { type: record.type.fields[i].type, data: d };
};
const unflatten = (v: Value): Value => {
  if (v.type.kind !== 'array') return originalValue(v);
  const element = v.type.element;
  const tree: Tree = new Map();
  const seen: { last: string | undefined } = { last: undefined };
  for (const d of itemsData(v.data)) {
    const item = underValue({ type: element, data: d });
    const key = fieldNamed(item, 'key');
    const value = fieldNamed(item, 'value');
    if (!key || !value) continue;
    const path = keyPath(key);
    if (!path) return wrappedError(`invalid key type ${typeText(key.type)}: expected either string or [string]`, item);
    if (path.length === 0) continue;
    if (path.length > levelsMax) return wrappedError(`unflatten: nesting too deep (limit ${levelsMax})`, v);
    // A field may be set again while it is the last one; coming back to an earlier one is a duplicate.
    if (tree.has(path[0]) && seen.last !== path[0]) return wrappedError(`duplicate field: ${quoteText(path[0])}`, v);
    seen.last = path[0];
    place(tree, path, value);
  }
  return treeValue(tree);
};
const place = (tree: Tree, path: readonly string[], value: Value): void => {
  let node = tree;
  for (const name of path.slice(0, -1)) {
    const child = node.get(name);
    if (isTree(child)) node = child;
    else {
      const made: Tree = new Map();
      node.set(name, made);
      node = made;
    }
  }
  node.set(path[path.length - 1], value);
};

// nest_dotted

interface Nest {
  readonly name: string;
  readonly column?: number;
  readonly children: Nest[];
}
/** How the columns of a shape nest, or the text of what forbids it. */
const nestingOf = (names: readonly string[]): readonly Nest[] | string => {
  const roots: Nest[] = [];
  for (const [column, name] of names.entries()) {
    const path = name.split('.');
    if (path.length > levelsMax) return `nest_dotted: nesting too deep (limit ${levelsMax})`;
    let siblings = roots;
    for (const [depth, part] of path.entries()) {
      const leaf = depth === path.length - 1;
      const known = siblings.find((n) => n.name === part);
      if (!known) {
        const made: Nest = leaf ? { name: part, column, children: [] } : { name: part, children: [] };
        siblings.push(made);
        siblings = made.children;
        continue;
      }
      if (leaf || known.column !== undefined)
        return `nest_dotted: duplicate field: ${quoteText(path.slice(0, depth + 1).join('.'))}`;
      if (siblings[siblings.length - 1] !== known)
        return `nest_dotted: fields in record ${path
          .slice(0, depth + 1)
          .map(quoteName)
          .join('.')} must be adjacent`;
      siblings = known.children;
    }
  }
  return roots;
};
const nested = (nodes: readonly Nest[], v: RecordVector): RecordVector => ({
  form: 'record',
  length: v.length,
  fields: nodes.map((n) => ({
    name: n.name,
    optional: false,
    values: n.column === undefined ? nested(n.children, v) : v.fields[n.column].values,
  })),
});
const nestDotted: Kernel = ([arg], length) => {
  const v: FlatVector = flatten(arg!);
  if (v.form === 'null') return repeat(nullValue, length);
  if (v.form !== 'record') return wrapErrors('nest_dotted: non-record value', arg!);
  if (!v.fields.some((f) => f.name.includes('.')))
    return v.fields.some((f) => f.optional)
      ? wrapErrors('nest_dotted: does not support optional fields', arg!)
      : original(arg!);
  if (v.fields.some((f) => f.optional)) return wrapErrors('nest_dotted: does not support optional fields', arg!);
  const nodes = nestingOf(v.fields.map((f) => f.name));
  return typeof nodes === 'string' ? wrapErrors(nodes, arg!) : nested(nodes, v);
};

export const records: readonly FunctionRow[] = [
  {
    name: 'fields',
    signature: 'fields(v)',
    text: 'The paths of the fields of a record or record type.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'fields({a:1,b:{c:2}})', output: '[["a"],["b","c"]]' },
      { query: 'fields(<{a:int64}>)', output: '[["a"]]' },
      { query: 'fields(1)', output: 'error("missing")' },
    ],
    make: byValues((v) => fields(v!)),
  },
  {
    name: 'flatten',
    signature: 'flatten(v)',
    text: 'The leaves of a record as an array of {key,value}.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      {
        query: 'flatten({a:1,b:{c:2,d:"x"}})',
        output: '[{key:["a"],value:1},{key:["b","c"],value:2},{key:["b","d"],value:"x"}]',
      },
      { query: 'flatten(1)', output: '1' },
    ],
    make: byValues((v) => flattenValue(v!), 'whole'),
  },
  {
    name: 'unflatten',
    signature: 'unflatten(a)',
    text: 'The record of an array of {key,value}.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'unflatten([{key:"a",value:1},{key:["b","c"],value:2}])', output: '{a:1,b:{c:2}}' },
      { query: 'unflatten(1)', output: '1' },
      { query: 'unflatten([{a:1}])', output: '{}' },
      {
        query: 'unflatten([{key:1,value:2}])',
        output: 'error({message:"invalid key type int64: expected either string or [string]",on:{key:1,value:2}})',
      },
    ],
    make: byValues((v) => unflatten(v!), 'whole'),
  },
  {
    name: 'nest_dotted',
    signature: 'nest_dotted(r)',
    text: 'The record with fields of dotted names nested.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'nest_dotted({"a.b":1,"a.c":2,d:3})', output: '{a:{b:1,c:2},d:3}' },
      {
        query: 'nest_dotted({"a.b":1,c:2,"a.d":3})',
        output: 'error({message:"nest_dotted: fields in record a must be adjacent",on:{"a.b":1,c:2,"a.d":3}})',
      },
      { query: 'nest_dotted(1)', output: 'error({message:"nest_dotted: non-record value",on:1})' },
    ],
    make: byKernel(nestDotted, 'whole'),
  },
];
