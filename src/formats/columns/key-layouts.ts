/**
 * What the records seen so far look like in a text: a tree of keys in their order. The next record's keys are compared
 * with the bytes of the path that the last one took, so that known records cost no string and no hash per key.
 */
import { type Shape, shapeOf, type Builder, type RecordBuilder } from '../../vectors/builder.ts';

/** What a key says. */
interface Key {
  readonly name: string;
  readonly optional: boolean;
}

/** A key behind the keys before it, or the place where records begin (no key). */
export interface KeyNode {
  /** The key's bytes as they stand in the text. */
  readonly bytes: Uint8Array;
  /** The name that the key stands for. */
  readonly name: string;
  /** The key says that its field may be absent. */
  readonly optional: boolean;
  readonly parent: KeyNode | undefined;
  /** Keys seen behind this one; the last taken first. */
  readonly next: KeyNode[];
  /** The same by their bytes, once there are many. */
  byBytes: Map<string, KeyNode> | undefined;
  /** Where records begin that are values of this key, or elements of its arrays. */
  inner: KeyNode | undefined;
  /** Set once a record has ended here. */
  layout: Layout | undefined;
}

/** Records with the same keys in the same order at the same place. */
export interface Layout {
  readonly shape: Shape;
  /** Only if a key occurs twice: for each field the child that gives its value, the last of its name. */
  readonly sources: readonly number[] | undefined;
  /** The builder that last took such a record, with its tag there. */
  builder: Builder | undefined;
  tag: number;
}

/**
 * Bytes of nodes kept before all is forgotten; bounds what records with ever new keys may cost. A node takes so many,
 * beside its key and its name.
 */
const bytesMaxDefault = 24 << 20;
const nodeBytes = 300;
const linearMax = 8;
/** Keys lie together, so many bytes of them: an array of its own would take more than most keys do. */
const keysBytes = 1 << 15;

/** The tree of keys of one reader, from `root` on. */
export class Layouts {
  root: KeyNode = newNode(noBytes, noKey, undefined);
  private keys = new Uint8Array(0);
  private keysEnd = 0;
  private held = 0;
  private readonly bytesMax: number;
  constructor(bytesMax = bytesMaxDefault) {
    this.bytesMax = bytesMax;
  }

  /** Bytes that nodes and layouts take, about. */
  get bytes(): number {
    return this.held;
  }

  /** Between values: starts again when too much was seen. */
  trim(): void {
    if (this.held <= this.bytesMax) return;
    this.root = newNode(noBytes, noKey, undefined);
    this.keys = noBytes;
    this.keysEnd = this.held = 0;
  }

  inner(node: KeyNode): KeyNode {
    if (node.inner) return node.inner;
    this.held += nodeBytes;
    return (node.inner = newNode(noBytes, noKey, undefined));
  }

  /** The layout of records that end at this node. */
  layoutOf(node: KeyNode): Layout {
    if (node.layout) return node.layout;
    node.layout = makeLayout(node);
    // Names, flags, and the key, which has all names.
    this.held += node.layout.shape.names.length * 16 + node.layout.shape.key.length * 2;
    return node.layout;
  }

  /** The node of the key bytes[start, end) behind `node`; made if need be with the name that `decode` gives. */
  follow(node: KeyNode, bytes: Uint8Array, start: number, end: number, decode: () => Key): KeyNode {
    const { next } = node;
    if (node.byBytes) return this.followMany(node, node.byBytes, bytes, start, end, decode);
    for (let i = 0; i < next.length; i++) {
      const child = next[i];
      if (!sameBytes(child.bytes, bytes, start, end)) continue;
      if (i > 0) {
        next[i] = next[0];
        next[0] = child;
      }
      return child;
    }
    const child = this.make(node, bytes, start, end, decode);
    if (next.length > linearMax) node.byBytes = new Map(next.map((n) => [latin1(n.bytes, 0, n.bytes.length), n]));
    return child;
  }

  private followMany(
    node: KeyNode,
    many: Map<string, KeyNode>,
    bytes: Uint8Array,
    start: number,
    end: number,
    decode: () => Key,
  ): KeyNode {
    const key = latin1(bytes, start, end);
    let child = many.get(key);
    if (!child) many.set(key, (child = this.make(node, bytes, start, end, decode)));
    return child;
  }

  private make(node: KeyNode, bytes: Uint8Array, start: number, end: number, decode: () => Key): KeyNode {
    const child = newNode(this.keyOf(bytes, start, end), decode(), node);
    node.next.push(child);
    this.held += nodeBytes + (end - start) * 2;
    return child;
  }
  private keyOf(bytes: Uint8Array, start: number, end: number): Uint8Array {
    const size = end - start;
    if (size * 8 > keysBytes) return bytes.slice(start, end);
    if (this.keysEnd + size > this.keys.length) {
      this.keys = new Uint8Array(this.keys.length === 0 ? keysBytes / 16 : keysBytes);
      this.keysEnd = 0;
      if (size > this.keys.length) return bytes.slice(start, end);
    }
    const key = this.keys.subarray(this.keysEnd, (this.keysEnd += size));
    key.set(bytes.subarray(start, end));
    return key;
  }
}

const noBytes = new Uint8Array(0);

const noKey: Key = { name: '', optional: false };
const newNode = (bytes: Uint8Array, { name, optional }: Key, parent: KeyNode | undefined): KeyNode => ({
  bytes,
  name,
  optional,
  parent,
  next: [],
  byBytes: undefined,
  inner: undefined,
  layout: undefined,
});

/** Whether bytes[start, end) are those of the key. */
export const sameBytes = (key: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean => {
  const size = key.length;
  if (end - start !== size) return false;
  for (let i = 0; i < size; i++) if (key[i] !== bytes[start + i]) return false;
  return true;
};
const latin1 = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');

const makeLayout = (end: KeyNode): Layout => {
  const keys: KeyNode[] = [];
  for (let node = end; node.parent; node = node.parent) keys.push(node);
  keys.reverse();
  const last = new Map(keys.map((key, i) => [key.name, i]));
  const sources = last.size < keys.length ? [...last.values()] : undefined;
  return {
    shape: shapeOf(sources ? [...last.keys()].map((name) => ({ name })) : keys),
    sources,
    builder: undefined,
    tag: 0,
  };
};

/** Begins a row of such a record. */
export const beginLayout = (layout: Layout, builder: Builder): RecordBuilder => {
  if (layout.builder !== builder) {
    layout.builder = builder;
    layout.tag = builder.recordTag(layout.shape);
  }
  return builder.beginRecord(layout.tag);
};
