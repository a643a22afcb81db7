/** Proxies whose word is taken for where a request comes from: the values of option -proxy.trust. */
import { BlockList, isIP } from 'node:net';

/** Ranges that have a name (RFC 1122, 3.2.1.3; RFC 4291, 2.5.3). */
const named: Readonly<Record<string, readonly string[]>> = { loopback: ['127.0.0.0/8', '::1'], unix: [] };

/** Whether a text names one or several of them. */
export const isProxy = (text: string): boolean => {
  if (named[text]) return true;
  const [address = '', bits, ...more] = text.split('/');
  const family = isIP(address);
  if (family === 0 || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
};

/** Whether an address is that of one of them; of a socket in the file system it is undefined. */
export const proxiesOf = (texts: readonly string[]): ((address: string | undefined) => boolean) => {
  const list = new BlockList();
  for (const text of texts.flatMap((one) => named[one] ?? [one])) {
    const [address = '', bits] = text.split('/');
    const family = familyOf(address);
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  const unix = texts.includes('unix');
  return (address) =>
    address === undefined || address === '' ? unix : isIP(address) !== 0 && list.check(address, familyOf(address));
};
const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');
