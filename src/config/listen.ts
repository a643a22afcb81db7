/** Where a service listens: the values of option -l. */
import { isIP } from 'node:net';
import { ConfigError, type Environment, parseAddress } from './options.ts';

/**
 * A host and port; a socket in the file system, whose `mode` says who may connect; or an open descriptor that listens
 * already.
 */
export type ListenAddress =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string; readonly mode: number }
  | { readonly kind: 'descriptor'; readonly descriptor: number };

/** Its owner alone, unless the option says more. */
const ownerOnly = 0o600;
/** Longer paths of sockets are cut by the system (sun_path of unix(7), which ends with a zero). */
const pathBytesMax = 107;
/** The first descriptor of those that systemd passes on (sd_listen_fds(3)). */
const firstPassed = 3;

/** The address of a text: HOST:PORT, or unix:PATH with `?mode=660` behind it. @throws ConfigError */
export const parseListen = (text: string): ListenAddress => {
  const bad = (wanted: string): ConfigError => new ConfigError(`bad value for -l: ${JSON.stringify(text)} (${wanted})`);
  if (text.startsWith('unix:')) {
    const [, path = '', mode] = /^unix:(.*?)(?:\?mode=([^?]*))?$/s.exec(text)!;
    if (path === '') throw bad('unix:PATH, with ?mode=660 behind it for others than the owner');
    if (Buffer.byteLength(path) > pathBytesMax)
      throw bad(`a path of at most ${pathBytesMax} bytes, as the system has it`);
    if (mode !== undefined && !/^0?[0-7]{3}$/.test(mode)) throw bad('a mode of three octal digits, such as 660');
    return { kind: 'unix', path, mode: mode === undefined ? ownerOnly : parseInt(mode, 8) };
  }
  const address = parseAddress(text);
  if (!address) throw bad('HOST:PORT with a port of 0 to 65535, or unix:PATH');
  return { kind: 'tcp', ...address };
};

/**
 * All addresses of a service: those of the options; sockets that systemd opened for this process come first, and in the
 * place of the default.
 */
export const listenAddresses = (
  texts: readonly string[],
  fallback: string,
  { LISTEN_PID: pid, LISTEN_FDS: count }: Environment,
): readonly ListenAddress[] => {
  const passed = pid === String(process.pid) && /^[1-9]\d{0,3}$/.test(count ?? '') ? Number(count) : 0;
  const sockets = Array.from(
    { length: passed },
    (_, i) => ({ kind: 'descriptor', descriptor: firstPassed + i }) as const,
  );
  const asked = texts.length > 0 || passed > 0 ? texts : [fallback];
  return [...sockets, ...asked.map(parseListen)];
};

/** As it is written in options and messages. */
export const listenText = (address: ListenAddress): string => {
  if (address.kind === 'unix') return `unix:${address.path}`;
  if (address.kind === 'descriptor') return `descriptor ${address.descriptor}`;
  return `${isIP(address.host) === 6 ? `[${address.host}]` : address.host}:${address.port}`;
};
