/** Literals and types of the syntax tree to values and types of the data model. */
import {
  type Type,
  arrayType,
  enumType,
  errorType,
  mapType,
  namedType,
  primitiveNamed,
  recordType,
  setType,
  types,
  unionType,
} from '../../vectors/type.ts';
import {
  type Value,
  boolValue,
  floatValue,
  integer,
  missing,
  nullValue,
  stringValue,
  typeValue,
} from '../../vectors/value.ts';
import {
  fitsInt64,
  parseBytes,
  parseDuration,
  parseFloat64,
  parseIp,
  parseNet,
  parseTime,
} from '../../vectors/literal.ts';
import type { Analysis } from './context.ts';
import type { CastTarget, LiteralExpr, Span, TypeNode } from '../ast.ts';
import { typeHint } from './hints.ts';
import { literal } from '../plan/walk.ts';
import type { PlanExpr } from '../plan/plan.ts';
import type { Scope } from './scope.ts';

/** The value of a literal; ranges are checked here. */
export const literalValue = (a: Analysis, e: LiteralExpr): Value => {
  const wrong = (message: string): Value => {
    a.fault(message, e);
    return nullValue;
  };
  switch (e.type) {
    case 'null':
      return nullValue;
    case 'bool':
      return boolValue(e.text === 'true');
    case 'string':
      return stringValue(e.text);
    case 'int64': {
      const x = BigInt(e.text.startsWith('+') ? e.text.slice(1) : e.text);
      return fitsInt64(x) ? { type: types.int64, data: integer(x) } : wrong(`invalid integer: ${e.text}`);
    }
    case 'float64':
      return floatValue(floatOf(e.text));
    case 'duration': {
      const x = parseDuration(e.text);
      return x === undefined ? wrong(`invalid duration: ${e.text}`) : { type: types.duration, data: x };
    }
    case 'time':
      return timeOf(e.text, wrong);
    case 'ip': {
      const x = parseIp(e.text);
      return x ? { type: types.ip, data: x } : wrong(faultOfIp(e.text) ?? `invalid IP address: ${e.text}`);
    }
    case 'net': {
      const x = parseNet(e.text);
      return x ? { type: types.net, data: x } : wrong(faultOfNet(e.text));
    }
    case 'bytes': {
      const x = parseBytes(e.text);
      return x
        ? { type: types.bytes, data: x }
        : wrong(`invalid bytes: ${e.text} (encoding/hex: odd length hex string)`);
    }
  }
};

/** What is wrong with an IPv4 address; undefined for other texts. */
const faultOfIp = (text: string): string | undefined => {
  const octet = /^[\d.]+$/.test(text)
    ? text.split('.').find((part) => /^0\d/.test(part) || Number(part) > 255)
    : undefined;
  return (
    octet && `ParseAddr("${text}"): IPv4 field has ${/^0\d/.test(octet) ? 'octet with leading zero' : 'value >255'}`
  );
};

const faultOfNet = (text: string): string => {
  const [address = '', bits = ''] = text.split('/');
  const reason =
    faultOfIp(address) ??
    (/^0\d/.test(bits)
      ? `bad bits after slash: "${bits}"`
      : parseIp(address)
        ? 'prefix length out of range'
        : undefined);
  return `invalid network: ${text}${reason === undefined ? '' : ` (netip.ParsePrefix("${text}"): ${reason})`}`;
};

const floatOf = (text: string): number => {
  const x = parseFloat64(text);
  if (x !== undefined) return x;
  return /^[+-]?inf$/i.test(text)
    ? text.startsWith('-')
      ? -Infinity
      : Infinity
    : /^nan$/i.test(text)
      ? NaN
      : Number(text);
};

const timeOf = (text: string, wrong: (message: string) => Value): Value => {
  const x = parseTime(text);
  if (x === undefined) return wrong(`invalid ISO time: ${text}`);
  if (fitsInt64(x)) return { type: types.time, data: x };
  return wrong(
    BigInt(x) > 0n
      ? `time overflow: ${text} (max: 2262-04-11T23:47:16Z)`
      : `time overflow: ${text} (min: 1677-09-21T00:12:44Z)`,
  );
};

/** Names that a type expression defines in place, for its later parts. */
type LocalNames = Map<string, Type>;

/** The type, or undefined when a name in it is bound to nothing (`unknown` gets the names). */
const typeOfNode = (
  a: Analysis,
  node: TypeNode,
  scope: Scope,
  local: LocalNames = new Map(),
  unknown: string[] = [],
): Type | undefined => {
  const sub = (n: TypeNode): Type | undefined => typeOfNode(a, n, scope, local, unknown);
  switch (node.kind) {
    case 'type-primitive':
      return primitiveNamed(node.name);
    case 'type-name': {
      const found = local.get(node.name) ?? declaredType(a, node.name, scope);
      if (!found) unknown.push(node.name);
      return found;
    }
    case 'type-named': {
      const inner = sub(node.type);
      if (!inner) return undefined;
      if (primitiveNamed(node.name)) {
        a.fault(`bad type name "${node.name}": primitive type name`, node);
        return undefined;
      }
      const named = namedType(node.name, inner);
      local.set(node.name, named);
      return named;
    }
    case 'type-record':
      return recordOfNode(a, node, sub);
    case 'type-array':
      return one(sub(node.elem), arrayType);
    case 'type-set':
      return one(sub(node.elem), setType);
    case 'type-error':
      return one(sub(node.type), errorType);
    case 'type-map': {
      const key = sub(node.key);
      const value = sub(node.value);
      return key && value && mapType(key, value);
    }
    case 'type-union': {
      const members = node.types.map(sub);
      return members.every((m) => m !== undefined) ? unionType(members) : undefined;
    }
    case 'type-enum':
      return enumType(node.symbols.map((s) => s.text));
  }
};
const one = (t: Type | undefined, make: (t: Type) => Type): Type | undefined => t && make(t);

const recordOfNode = (
  a: Analysis,
  node: TypeNode & { readonly kind: 'type-record' },
  sub: (n: TypeNode) => Type | undefined,
): Type | undefined => {
  const seen = new Set<string>();
  const fields: { name: string; type: Type; optional: boolean }[] = [];
  for (const f of node.fields) {
    const type = sub(f.type);
    if (!type) return undefined;
    if (seen.has(f.name.text)) {
      a.fault(`duplicate field: "${f.name.text}"`, node);
      return undefined;
    }
    seen.add(f.name.text);
    fields.push({ name: f.name.text, type, optional: f.optional });
  }
  return recordType(fields);
};

/** Declarations that are being looked up, so that a type that names itself ends. */
const open = new Set<object>();
/**
 * What a declaration stands for, once it is known: declarations that name the one before twice would double the work
 * each time.
 */
const known = new WeakMap<object, Type>();

/** The named type that a `type` declaration gives to the name. */
export const declaredType = (a: Analysis, name: string, scope: Scope): Type | undefined => {
  const symbol = scope.lookup(name);
  if (symbol?.kind !== 'type' || open.has(symbol.decl)) return undefined;
  const found = known.get(symbol);
  if (found) return found;
  open.add(symbol.decl);
  try {
    const inner = typeOfNode(a, symbol.decl.type, symbol.scope);
    const type = inner && namedType(name, inner);
    if (type) known.set(symbol, type);
    return type;
  } finally {
    open.delete(symbol.decl);
  }
};

/** `<type>` as an expression: a constant; a name alone that is bound to nothing is looked up when the query runs. */
export const typeValueExpr = (a: Analysis, node: TypeNode, scope: Scope, place: Span = node): PlanExpr => {
  if (node.kind === 'type-name' && !typeOfNode(a, node, scope))
    return { kind: 'call', name: 'typename', arguments: [literal(stringValue(node.name))] };
  const type = checkNames(a, node, scope, place);
  return literal(type ? typeValue(type) : missing);
};

/** The type of a cast's target that is written as a type; names that resolve to nothing are faults. */
export const castType = (
  a: Analysis,
  target: Exclude<CastTarget, { readonly kind: 'id' | 'cast-name' | 'cast-date' | 'sql-type' }>,
  scope: Scope,
): Type => {
  return checkNames(a, target, scope) ?? types.null;
};
/** The type; names in it that resolve to nothing are faults. */
export const checkNames = (a: Analysis, node: TypeNode, scope: Scope, place: Span = node): Type | undefined => {
  const unknown: string[] = [];
  const type = typeOfNode(a, node, scope, new Map(), unknown);
  if (!type && unknown.length > 0) a.fault(`no such type name: "${unknown[0]}"`, place, typeHint(unknown[0]));
  return type;
};
