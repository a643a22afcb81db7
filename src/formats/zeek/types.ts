/** Types of Zeek columns and ours. */
import {
  type NamedType,
  type Type,
  arrayType,
  namedType,
  nullable,
  setType,
  types,
  underType,
} from '../../vectors/type.ts';

const port = namedType('port', types.uint16);
const zenum = namedType('zenum', types.string);
const simple: ReadonlyMap<string, Type> = new Map<string, Type>([
  ['addr', types.ip],
  ['subnet', types.net],
  ['bool', types.bool],
  ['string', types.string],
  ['time', types.time],
  ['count', types.uint64],
  ['int', types.int64],
  ['double', types.float64],
  ['interval', types.duration],
  ['port', port],
  ['enum', zenum],
]);

/** The type of a column without its null, or undefined for a name that is none. */
export const typeOfZeek = (name: string): Type | undefined => {
  const container = /^(set|vector|table)\[(.+)\]$/.exec(name);
  if (!container) return simple.get(name);
  const element = simple.get(container[2]);
  return element && (container[1] === 'vector' ? arrayType(nullable(element)) : setType(nullable(element)));
};

/** The type inside `T|null`; the type itself if it is no union; undefined for other unions. */
const withoutNull = (type: Type): Type | undefined => {
  if (type.kind !== 'union') return type;
  const rest = type.members.filter((m) => m !== types.null);
  return rest.length === 1 && type.members.length === 2 ? rest[0] : undefined;
};

/** The name of a column's type, or undefined where Zeek has none. */
export const zeekOfType = (declared: Type): string | undefined => {
  const type = withoutNull(declared);
  if (!type) return undefined;
  if (type.kind === 'named') return nameOfNamed(type);
  if (type.kind === 'array' || type.kind === 'set') {
    const element = withoutNull(type.element);
    const inner = element && underType(element).kind;
    const name = element && inner !== 'array' && inner !== 'set' ? zeekOfType(element) : undefined;
    return name && `${type.kind === 'array' ? 'vector' : 'set'}[${name}]`;
  }
  if (type.kind !== 'primitive') return undefined;
  switch (type.name) {
    case 'uint64':
      return 'count';
    case 'uint8':
    case 'uint16':
    case 'uint32':
    case 'int8':
    case 'int16':
    case 'int32':
    case 'int64':
      return 'int';
    case 'float16':
    case 'float32':
    case 'float64':
      return 'double';
    case 'bool':
    case 'string':
    case 'time':
      return type.name;
    case 'ip':
      return 'addr';
    case 'net':
      return 'subnet';
    case 'duration':
      return 'interval';
    default:
      return undefined;
  }
};
const nameOfNamed = (type: NamedType): string | undefined =>
  type === port ? 'port' : type === zenum ? 'enum' : zeekOfType(type.inner);
