/**
 * How large a type may be that bytes describe. Types share their parts, so a few bytes can name a type whose text or
 * columns would fill the memory: each definition that refers twice to the one before doubles it.
 */
import type { Type } from './type.ts';

/** Most levels of values within values, of all that is read and stored. */
export const levelsMax = 1_000;
/** Most nodes of a type written out in full. */
export const typeNodesMax = 200_000;
/** What is wrong with a type of more nodes. */
export const typeTooLarge = `type too large (limit ${typeNodesMax} components)`;

interface Extent {
  readonly nodes: number;
  readonly depth: number;
}
const extents = new WeakMap<Type, Extent>();
const leaf: Extent = { nodes: 1, depth: 0 };

/**
 * Nodes of a type written out in full, and levels: a number has none, a list of numbers has one. Costs the type's own components only if those of its parts were
 * asked for before.
 */
export const extentOf = (type: Type): Extent => {
  if (type.kind === 'primitive' || type.kind === 'enum') return leaf;
  const known = extents.get(type);
  if (known) return known;
  let nodes = 1;
  let depth = 0;
  for (const part of partsOf(type)) {
    const extent = extentOf(part);
    nodes += extent.nodes;
    depth = Math.max(depth, extent.depth);
  }
  const extent = { nodes, depth: depth + 1 };
  extents.set(type, extent);
  return extent;
};

const partsOf = (type: Type): readonly Type[] => {
  switch (type.kind) {
    case 'record':
      return type.fields.map((f) => f.type);
    case 'array':
    case 'set':
      return [type.element];
    case 'map':
      return [type.key, type.value];
    case 'union':
      return type.members;
    case 'error':
    case 'named':
      return [type.inner];
    default:
      return [];
  }
};

/** What is wrong with the type's size, or undefined. `nestingMax` is that of values. */
export const typeFault = (type: Type, nestingMax: number): string | undefined => {
  const { nodes, depth } = extentOf(type);
  if (depth > nestingMax) return `type nesting too deep (limit ${nestingMax})`;
  return nodes > typeNodesMax ? typeTooLarge : undefined;
};
