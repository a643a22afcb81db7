/** The bucket that a lake is in, from options: where it is and how it is asked. */
import { ConfigError, type Environment } from './options.ts';
import type { ServeValues, StoreAddressValues } from './tables.ts';

/** `prefix`: empty, or ends in a slash; `endpoint`: empty for AWS; `region`: empty for that of environment or profile. */
export interface StoreAddress {
  readonly bucket: string;
  readonly prefix: string;
  readonly endpoint: string;
  readonly region: string;
  readonly style: 'path' | 'host';
}
/** Times in milliseconds, sizes in bytes. */
export interface StoreConfig extends StoreAddress {
  readonly ack: 'local' | 'bucket';
  /** After this time without a sign of life another service may take over. */
  readonly leaseMs: number;
  /** A writer that lives is not waited for. */
  readonly takesOver: boolean;
  readonly graceMs: number;
  /** 0: no limit. */
  readonly cacheBytesMax: number;
}

/** The bucket that a replica follows. */
export interface FollowConfig extends StoreAddress {
  readonly pollMs: number;
  /** The writer's address; empty: the bucket alone is asked. */
  readonly url: string;
  readonly token: string;
  /** It takes over when the writer is gone, and writes like this. */
  readonly standby?: StoreConfig;
  readonly graceMs: number;
  readonly cacheBytesMax: number;
}

/** Whether a text names a bucket. */
export const isStore = (text: string): boolean => /^s3:/i.test(text);

/** @throws ConfigError */
export const storeAddress = (
  text: string,
  values: StoreAddressValues,
  environment: Environment,
  option = 'store',
): StoreAddress => {
  const [, bucket = '', prefix = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/i.exec(text) ?? [];
  if (bucket === '' || /(^|\/)\.{0,2}(\/|$)/.test(prefix.replace(/\/$/, '') || 'x'))
    throw new ConfigError(
      `bad value for -${option}: ${JSON.stringify(text)} (s3://BUCKET/PREFIX, the bucket of 3 to 63 letters, digits, '-' and '.')`,
    );
  const endpoint =
    values['store.endpoint'] || (environment['AWS_ENDPOINT_URL_S3'] ?? environment['AWS_ENDPOINT_URL'] ?? '');
  if (endpoint !== '' && !(URL.canParse(endpoint) && /^https?:$/.test(new URL(endpoint).protocol)))
    throw new ConfigError(
      `bad value for -store.endpoint: ${JSON.stringify(endpoint)} (a URL such as https://minio.example.com:9000)`,
    );
  const style = values['store.style'];
  // A certificate of AWS is for one label before its own name.
  const isPath = endpoint !== '' || bucket.includes('.');
  return Object.freeze({
    bucket,
    prefix: prefix === '' ? '' : `${prefix.replace(/\/+$/, '')}/`,
    endpoint,
    region: values['store.region'],
    style: style === 'auto' ? (isPath ? 'path' : 'host') : style,
  });
};

/** Of `lake serve`; nothing for a lake that is a folder alone. @throws ConfigError */
export const storeConfig = (
  values: ServeValues,
  environment: Environment,
): { readonly store?: StoreConfig; readonly follow?: FollowConfig } => {
  const text = values['store'];
  const followed = values['follow'];
  const isStandby = values['standby'];
  if (isStandby && text === '') throw new ConfigError('-standby goes with -store s3://BUCKET/PREFIX');
  if (followed !== '') {
    if (text !== '') throw new ConfigError('-follow does not go with -store: a replica writes to no bucket');
    // Its senders would never learn that nothing is kept.
    if (values['syslog'] !== '') throw new ConfigError('-follow does not go with -syslog: a replica takes no records');
    return { follow: followConfig({ text: followed, option: 'follow' }, values, environment) };
  }
  if (text === '') return {};
  const store = writerConfig(text, values, environment);
  if (!isStandby) return { store };
  return { follow: { ...followConfig({ text, option: 'standby' }, values, environment), standby: store } };
};
const writerConfig = (text: string, values: ServeValues, environment: Environment): StoreConfig => {
  const leaseMs = values['store.lease'];
  if (leaseMs < leaseMsMin)
    throw new ConfigError(`bad value for -store.lease: ${leaseMs} ms, at least ${leaseMsMin} ms`);
  return Object.freeze({
    ...storeAddress(text, values, environment),
    ack: values['store.ack'],
    leaseMs,
    takesOver: values['store.takeover'],
    graceMs: values['store.grace'],
    cacheBytesMax: values['cache.max'],
  });
};
const leaseMsMin = 200;
const pollMsMin = 10;
/** @throws ConfigError */
const followConfig = (
  { text, option }: { readonly text: string; readonly option: 'follow' | 'standby' },
  values: ServeValues,
  environment: Environment,
): FollowConfig => {
  if (values['record'] !== '')
    throw new ConfigError(`-${option} does not go with -record: a replica has no jobs that could be recorded`);
  const url = values['follow.url'];
  if (url !== '' && !(URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)))
    throw new ConfigError(
      `bad value for -follow.url: ${JSON.stringify(url)} (the writer's address, such as http://host1:9867)`,
    );
  const pollMs = values['follow.poll'];
  if (pollMs < pollMsMin) throw new ConfigError(`bad value for -follow.poll: ${pollMs} ms, at least ${pollMsMin} ms`);
  return Object.freeze({
    ...storeAddress(text, values, environment, option === 'follow' ? 'follow' : 'store'),
    pollMs,
    url,
    token: values['follow.token'],
    graceMs: values['store.grace'],
    cacheBytesMax: values['cache.max'],
  });
};
