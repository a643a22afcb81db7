/**
 * Values as SUP text in coloured pieces, as the service's own writer prints them; and what a cell of the table shows of
 * a value.
 */
import { nameText, type Type, typeText } from '../../../src/client/types.ts';
import { visible } from '../text.ts';
import { type Cell, isNull, type Part, partsOf, plain, primitive } from './wire.ts';

/** The colour of a piece. */
type Tone = 'mark' | 'name' | 'string' | 'number' | 'time' | 'word' | 'type' | 'error' | 'null';
/** A part of a text in one colour. */
interface Piece {
  readonly text: string;
  readonly tone: Tone;
}

const implied: ReadonlySet<string> = new Set([
  'int64',
  'float64',
  'bool',
  'string',
  'bytes',
  'duration',
  'time',
  'ip',
  'net',
  'type',
  'null',
]);
/** Whether the bare text of a value reads as this type. */
const isImplied = (type: Type): boolean => {
  switch (type.kind) {
    case 'primitive':
      return implied.has(type.name);
    case 'record':
      return type.fields.every((field) => isImplied(field.type));
    case 'array':
    case 'set':
    case 'error':
      return isImplied(type.type);
    case 'map':
      return isImplied(type.key) && isImplied(type.value);
    default:
      return false;
  }
};

/** The same for an empty container that stands alone: unions of its elements count as what they hold, but in maps. */
const isImpliedEmpty = (type: Type): boolean =>
  (type.kind === 'array' || type.kind === 'set') && type.type.kind === 'union'
    ? type.type.types.every(isImplied)
    : isImplied(type);

/** As SUP quotes a string. */
const quoted = (text: string): string => JSON.stringify(text).replaceAll('\\u007f', '\u007f');

/** The colour of bare values of a type. */
const toneOf = (type: Type): Tone => {
  if (type.kind !== 'primitive') return type.kind === 'enum' ? 'string' : type.kind === 'error' ? 'error' : 'mark';
  if (/^(u?int|float)/.test(type.name)) return 'number';
  if (type.name === 'time' || type.name === 'duration') return 'time';
  if (type.name === 'string') return 'string';
  if (type.name === 'type') return 'type';
  return type.name === 'null' ? 'null' : 'word';
};

/** Text of a primitive or an enum's symbol, unquoted. */
export const bareText = (cell: Cell): string => {
  const { type, json, table } = plain(cell);
  if (json === null) return 'null';
  if (type.kind === 'enum') return type.symbols[Number(json)] ?? String(json);
  if (type.kind === 'primitive' && type.name === 'type') return `<${typeText(table.read(json))}>`;
  return String(json);
};

/** Names of types that are defined so far. */
type Names = Map<string, Type>;

const shortHex = /^[0-9a-fA-F]{1,4}$/;
const plainTypeName = /^[\p{L}_$][\p{L}\p{Nd}_$.]*$|^\p{Nd}+$/u;
/** A short name of hex digits could be read as part of an address. */
const reference = (name: string, text: string): string => (shortHex.test(name) ? quoted(name) : text);
const definedName = (name: string): string => (plainTypeName.test(name) ? name : quoted(name));

/** A type as SUP writes it: a name is defined where it stands first. `decorator`: behind a value. */
const supType = (type: Type, names: Names, decorator = false): string => {
  const inner = (t: Type): string => supType(t, names, decorator);
  switch (type.kind) {
    case 'primitive':
      return type.name;
    case 'record':
      return `{${type.fields.map((f) => `${nameText(f.name)}${f.optional ? '?' : ''}:${inner(f.type)}`).join(',')}}`;
    case 'array':
      return `[${inner(type.type)}]`;
    case 'set':
      return `|[${inner(type.type)}]|`;
    case 'map':
      return `|{${inner(type.key)}:${inner(type.value)}}|`;
    case 'union':
      return type.types
        .map((m) => {
          const parentheses =
            m.kind === 'union' ||
            (m.kind === 'named' && names.get(m.name) !== m && !(decorator && m.type.kind === 'union'));
          return parentheses ? `(${inner(m)})` : inner(m);
        })
        .join('|');
    case 'enum':
      return `enum(${type.symbols.map(nameText).join(',')})`;
    case 'error':
      return `error(${supType(type.type, names, decorator && type.type.kind !== 'named')})`;
    case 'named': {
      if (names.get(type.name) === type) return reference(type.name, nameText(type.name));
      const text = `${nameText(type.name)}=${inner(type.type)}`;
      names.set(type.name, type);
      return decorator && type.type.kind === 'union' ? `(${text})` : text;
    }
  }
};

/** `nested`: inside another value. `known`: a name around it tells the type, so that leaves need no decorator. */
interface Place {
  readonly nested: boolean;
  readonly known?: boolean;
}
type Container = Extract<Type, { readonly kind: 'array' | 'set' | 'map' }>;

class Printer {
  readonly pieces: Piece[] = [];
  private readonly names: Names = new Map();
  private left: number;
  constructor(charactersMax: number) {
    this.left = charactersMax;
  }

  get full(): boolean {
    return this.left <= 0;
  }
  private add(text: string, tone: Tone = 'mark'): void {
    if (this.full) return;
    this.pieces.push({ text: text.length > this.left ? `${text.slice(0, this.left)}…` : text, tone });
    this.left -= text.length;
  }
  private decorate(type: Type): void {
    const isDefinition = type.kind === 'named' && this.names.get(type.name) !== type && type.type.kind !== 'union';
    const text = supType(type, this.names, true);
    this.add(type.kind === 'union' || isDefinition ? `::(${text})` : `::${text}`, 'type');
  }

  /** The value with all decorators that it needs at its place. */
  value(cell: Cell, place: Place): void {
    const { type } = cell;
    switch (type.kind) {
      case 'primitive':
        this.bare(cell, place);
        if (!implied.has(type.name) && !place.known) this.add(`::${type.name}`, 'type');
        return;
      case 'record':
      case 'error':
        return this.bare(cell, place);
      case 'array':
      case 'set':
      case 'map':
        this.bare(cell, place);
        if (!place.known && needsDecorator(type, cell, place.nested)) {
          this.decorate(type);
          // An empty map of unions inside of another value says its type twice, as the service does.
          if (
            place.nested &&
            type.kind === 'map' &&
            (under(type.key).kind === 'union' || under(type.value).kind === 'union') &&
            partsOf(cell).length === 0
          )
            this.decorate(type);
        }
        return;
      case 'enum':
        this.bare(cell, place);
        if (!place.known) this.decorate(type);
        return;
      case 'union':
        this.value(memberOf(cell), { nested: true });
        return this.decorate(type);
      case 'named':
        return this.named(cell, type, place);
    }
  }

  private named(cell: Cell, type: Extract<Type, { readonly kind: 'named' }>, place: Place): void {
    const inner: Cell = { type: type.type, json: cell.json, table: cell.table };
    if (place.known)
      return type.type.kind === 'union' ? this.value(inner, { nested: place.nested }) : this.bare(inner, place);
    if (this.names.get(type.name) === type) {
      this.body(inner, { ...place, known: true });
      return this.add(`::${reference(type.name, definedName(type.name))}`, 'type');
    }
    if (!selfDescribing(inner, place.nested)) {
      this.body(inner, place);
      return this.decorate(type);
    }
    this.value(inner, place);
    this.names.set(type.name, type);
    return this.add(`::=${definedName(type.name)}`, 'type');
  }
  private body(cell: Cell, place: Place): void {
    if (cell.type.kind === 'union') this.value(memberOf(cell), { nested: true });
    else this.bare(cell, place);
  }

  /** Without the decorator of the value itself. */
  private bare(cell: Cell, place: Place): void {
    const { type, json, table } = cell;
    const at: Place = { nested: true, known: place.known ?? false };
    switch (type.kind) {
      case 'primitive':
        if (json === null) return this.add('null', 'null');
        if (type.name === 'type') return this.type(table.read(json));
        // SUP knows no -0.
        return this.add(
          type.name === 'string' ? quoted(String(json)) : json === '-0.' ? '0.' : String(json),
          toneOf(type),
        );
      case 'enum':
        return this.add(quoted(bareText(cell)), 'string');
      case 'named':
        return this.bare({ type: type.type, json, table }, place);
      case 'union':
        return this.value(memberOf(cell), { nested: true });
      case 'error':
        this.add('error(', 'error');
        this.value({ type: type.type, json, table }, { ...place, nested: true });
        return this.add(')', 'error');
      case 'record':
        return this.list('{', '}', partsOf(cell), ({ field, cell: value }) => {
          this.add(nameText(field!.name), 'name');
          this.add(field!.optional ? '?:' : ':');
          if (value) return this.value(value, at);
          this.add('_', 'null');
          return this.decorate(field!.type);
        });
      case 'array':
        return this.list('[', ']', partsOf(cell), ({ cell: value }) => {
          this.element(value!, at);
        });
      case 'set':
        return this.list('|[', ']|', partsOf(cell), ({ cell: value }) => {
          this.element(value!, at);
        });
      case 'map':
        return this.list('|{', '}|', partsOf(cell), ({ key, cell: value }) => {
          const from = this.pieces.length;
          this.element(key!, at);
          const text = textOf(this.pieces.slice(from));
          const probe = new Printer(probeCharacters);
          probe.element(value!, at);
          // The colon behind an IPv6 address would be read as part of it, and hex digits before an address as its
          // beginning.
          const apart =
            /^[0-9a-fA-F:.]*$/.test(text) && (text.includes(':') || /^[0-9a-fA-F]*:/.test(textOf(probe.pieces)));
          this.add(apart ? ' :' : ':');
          this.element(value!, at);
        });
    }
  }
  private list(begin: string, end: string, parts: readonly Part[], print: (part: Part) => void): void {
    this.add(begin);
    for (let i = 0; i < parts.length && !this.full; i++) {
      if (i > 0) this.add(',');
      print(parts[i]);
    }
    this.add(end);
  }
  /** Of a union only the member is told. */
  private element(cell: Cell, at: Place): void {
    if (under(cell.type).kind === 'union') this.value(memberOf({ ...cell, type: under(cell.type) }), { nested: true });
    else this.value(cell, at);
  }
  /**
   * Names are defined again within a type; what they meant before is forgotten where they mean something else there.
   */
  private type(type: Type): void {
    const names: Names = new Map();
    const text = supType(type, names);
    for (const [name, meaning] of names) if (this.names.get(name) !== meaning) this.names.delete(name);
    this.add(`<${text}>`, 'type');
  }
}

/** More than an address has. */
const probeCharacters = 40;
const textOf = (pieces: readonly Piece[]): string => pieces.map(({ text }) => text).join('');

const under = (type: Type): Type => (type.kind === 'named' ? under(type.type) : type);
/** What a union holds, with its names. */
const memberOf = ({ type, json, table }: Cell): Cell => {
  if (type.kind !== 'union' || json === null) return { type: primitive('null'), json: null, table };
  const [tag, value] = json as readonly [unknown, unknown];
  return { type: type.types[Number(tag)], json: value, table };
};
/** Whether the inner text of a named value tells the type, so that `::=name` suffices. */
const selfDescribing = (cell: Cell, nested: boolean): boolean => {
  const { type } = cell;
  switch (type.kind) {
    case 'primitive':
      return implied.has(type.name);
    case 'record':
    case 'error':
      return true;
    case 'array':
    case 'set':
    case 'map':
      return !needsDecorator(type, cell, nested) && (partsOf(cell).length > 0 || holdsNulls(type));
    default:
      return false;
  }
};
const isNullType = (type: Type): boolean => type.kind === 'primitive' && type.name === 'null';
const holdsNulls = (type: Container): boolean =>
  type.kind === 'map' ? isNullType(type.key) && isNullType(type.value) : isNullType(type.type);
const needsDecorator = (type: Container, cell: Cell, nested: boolean): boolean => {
  const parts = partsOf(cell);
  if (parts.length === 0) return nested || !isImpliedEmpty(type);
  return type.kind === 'map'
    ? losesMembers(
        type.key,
        parts.map((p) => p.key!),
      ) ||
        losesMembers(
          type.value,
          parts.map((p) => p.cell!),
        )
    : losesMembers(
        type.type,
        parts.map((p) => p.cell!),
      );
};
/** Whether elements that are printed without their union do not tell the whole union. */
const losesMembers = (type: Type, cells: readonly Cell[]): boolean => {
  if (type.kind === 'named') return under(type).kind === 'union';
  if (type.kind !== 'union') return false;
  const seen = new Set(
    cells.map(({ json }) =>
      json === null ? type.types.findIndex(isNullType) : Number((json as readonly unknown[])[0]),
    ),
  );
  return type.types.some((_, i) => !seen.has(i));
};

/** The value on one line of SUP, cut behind so many characters. */
export const supPieces = (cell: Cell, charactersMax = Infinity): readonly Piece[] => {
  const printer = new Printer(charactersMax);
  printer.value(cell, { nested: false });
  return printer.pieces;
};
/** The value on one line of SUP. */
export const supText = (cell: Cell): string =>
  supPieces(cell)
    .map((piece) => piece.text)
    .join('');

/** How a cell looks: what is no value is told apart from every text. */
type Look = 'number' | 'string' | 'time' | 'word' | 'type' | 'nested' | 'null' | 'error' | 'missing' | 'empty';
/** The text of a cell, cut to what a cell holds. */
interface Shown {
  readonly text: string;
  readonly look: Look;
}

const shownMax = 300;
const clipped = (text: string): string => visible(text, shownMax);

/** What stands in a cell. */
export const shown = (cell: Cell | undefined): Shown => {
  if (!cell) return { text: '', look: 'missing' };
  const value = plain(cell);
  const { type } = value;
  if (isNull(value)) return { text: 'null', look: 'null' };
  switch (type.kind) {
    case 'error': {
      const inner = plain({ type: type.type, json: value.json, table: value.table });
      return {
        text: clipped(
          inner.type.kind === 'primitive' && inner.type.name === 'string' ? String(inner.json) : line(inner),
        ),
        look: 'error',
      };
    }
    case 'enum':
      return { text: clipped(bareText(value)), look: 'string' };
    case 'primitive': {
      const text = bareText(value);
      const tone = toneOf(type);
      if (text === '') return { text: type.name === 'string' ? '""' : '0x', look: 'empty' };
      return {
        text: clipped(text),
        look: tone === 'number' || tone === 'string' || tone === 'time' || tone === 'type' ? tone : 'word',
      };
    }
    default:
      return { text: clipped(line(value)), look: 'nested' };
  }
};
const line = (cell: Cell): string =>
  supPieces(cell, shownMax)
    .map((piece) => piece.text)
    .join('');

/** What is copied of a cell: a text as it is, anything else as SUP. */
export const copied = (cell: Cell | undefined): string => {
  if (!cell) return '';
  const { type, json } = plain(cell);
  return json !== null && (type.kind === 'primitive' || type.kind === 'enum') ? bareText(cell) : supText(cell);
};
