/** Functions on addresses and networks. */
import { isFloat, isNumeric, types } from '../../../vectors/type.ts';
import { type Value, recordValue, underValue, wrappedError, bytesData } from '../../../vectors/value.ts';
import { netOf } from '../../../vectors/literal.ts';
import {
  type BytesVector,
  type Vector,
  bools,
  dataAt,
  flatten,
  noRows,
  nulls,
  take,
  ofForm,
} from '../../../vectors/vector.ts';
import { applyCarrying } from '../../expressions/apply.ts';
import { overlay, truth, truthOutside, wrapErrors } from '../../expressions/rows.ts';
import { addressesIn, anyAddressIn } from '../../expressions/search.ts';
import { walk } from '../../expressions/walk.ts';
import { byValues, byVectors, isError, isNull, isOf, refused, type Evaluate, type FunctionRow } from '../row.ts';

/** The second argument is searched as it is. */
const cidrMatch: Evaluate = ([net, within], length) =>
  length === 0
    ? noRows
    : applyCarrying(
        [net!],
        [within!],
        length,
        ([n], [v], count) => {
          const rows = v!;
          if (isNull(n!)) return nulls(count);
          const result =
            isError(n!) || !isOf(n!, types.net)
              ? wrapErrors('cidr_match: not a net', n!)
              : bools(
                  n!.form === 'constant'
                    ? inNet(rows, bytesData(dataAt(n!.inner, 0)))
                    : inNets(rows, ofForm(flatten(n!), 'bytes')),
                );
          return overlay(
            result,
            truthOutside(rows).map((c) => (c === truth.null ? 1 : 0)),
            nulls(count),
          );
        },
        'bare',
      );
const inNet = (v: Vector, net: Uint8Array): Uint8Array =>
  walk(v, {
    most: 1,
    intoErrors: true,
    visit: (node) => (node.form === 'bytes' && node.type === types.ip ? addressesIn(node, net) : undefined),
  });
const inNets = (v: Vector, nets: BytesVector): Uint8Array => {
  const out = new Uint8Array(v.length);
  for (let i = 0; i < out.length; i++)
    out[i] = anyAddressIn(take(v, Uint32Array.of(i)), bytesData(dataAt(nets, i))) ? 1 : 0;
  return out;
};

/** Bits of a mask given as an address, or -1 if its ones are not all in front. */
const maskBits = (mask: Uint8Array): number => {
  let bits = 0;
  while (bits < mask.length * 8 && mask[bits >> 3] & (0x80 >> (bits & 7))) bits++;
  for (let i = bits; i < mask.length * 8; i++) if (mask[i >> 3] & (0x80 >> (i & 7))) return -1;
  return bits;
};
const networkOf = (of: Value, by?: Value): Value => {
  const address = underValue(of);
  const mask = by && underValue(by);
  if (address.type !== types.ip) return wrappedError('network_of: not an IP', address);
  const ip = bytesData(address.data);
  if (!mask) {
    if (ip.length !== 4) return refused('network_of: not an IPv4 address', address);
    return { type: types.net, data: netOf(ip, ip[0] < 128 ? 8 : ip[0] < 192 ? 16 : 24) };
  }
  const both = (): Value =>
    recordValue([
      { name: 'address', value: address },
      { name: 'mask', value: mask },
    ]);
  if (mask.type === types.ip) {
    if (bytesData(mask.data).length !== ip.length)
      return refused('network_of: address and mask have different lengths', both());
    const bits = maskBits(bytesData(mask.data));
    return bits < 0 ? refused('network_of: mask is non-contiguous', mask) : { type: types.net, data: netOf(ip, bits) };
  }
  if (!isNumeric(mask.type) || isFloat(mask.type) || mask.type === types.duration || mask.type === types.time)
    return refused('network_of: bad arg for CIDR mask', by!);
  const bits = Number(mask.data);
  return bits < 0 || bits > ip.length * 8
    ? refused('network_of: CIDR bit count out of range', both())
    : { type: types.net, data: netOf(ip, bits) };
};

export const net: readonly FunctionRow[] = [
  {
    name: 'cidr_match',
    signature: 'cidr_match(net, v)',
    text: 'Whether an address of the network is in the value, at any depth.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'values cidr_match(10.0.0.0/8,10.1.1.1)', output: 'true' },
      { query: 'values cidr_match(10.0.0.0/8,{a:"x",b:[10.1.1.1]})', output: 'true' },
      { query: 'values cidr_match("a",10.1.1.1)', output: 'error({message:"cidr_match: not a net",on:"a"})' },
    ],
    make: byVectors(cidrMatch),
  },
  {
    name: 'network_of',
    signature: 'network_of(ip[, mask])',
    text: 'The network of an address: by a mask, a prefix length, or the class of an IPv4 address.',
    argumentsMin: 1,
    argumentsMax: 2,
    examples: [
      { query: 'network_of(10.1.2.129)', output: '10.0.0.0/8' },
      { query: 'network_of(172.16.0.1)', output: '172.16.0.0/16' },
      { query: 'network_of(10.1.2.129,26)', output: '10.1.2.128/26' },
      { query: 'network_of(10.1.2.129,255.255.255.192)', output: '10.1.2.128/26' },
      { query: 'network_of(::1)', output: 'error({message:"network_of: not an IPv4 address",on:::1})' },
      {
        query: 'network_of(10.1.2.129,33)',
        output: 'error({message:"network_of: CIDR bit count out of range",on:{address:10.1.2.129,mask:33}})',
      },
      {
        query: 'network_of(10.1.2.129,255.0.255.0)',
        output: 'error({message:"network_of: mask is non-contiguous",on:255.0.255.0})',
      },
      {
        query: 'network_of(10.1.2.129,ffff::)',
        output:
          'error({message:"network_of: address and mask have different lengths",on:{address:10.1.2.129,mask:ffff::}})',
      },
      { query: 'network_of(1)', output: 'error({message:"network_of: not an IP",on:1})' },
      { query: 'network_of(10.1.2.129,"x")', output: 'error({message:"network_of: bad arg for CIDR mask",on:"x"})' },
    ],
    make: byValues((address, mask) => networkOf(address!, mask), 'whole'),
  },
];
