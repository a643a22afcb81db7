/** The bucket that a lake is in, from options: where it is and how it is asked. */
import { ConfigError, type Environment, type ParsedOptions } from './options.ts';

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
  readonly graceMs: number;
  readonly cacheBytesMax: number;
}

type Values = ParsedOptions['values'];

/** Whether a text names a bucket. */
export const isStore = (text: string): boolean => /^s3:/i.test(text);

/** @throws ConfigError */
export const storeAddress = (
  text: string,
  values: Values,
  environment: Environment,
  option = 'store',
): StoreAddress => {
  const [, bucket = '', prefix = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/i.exec(text) ?? [];
  if (bucket === '' || /(^|\/)\.{0,2}(\/|$)/.test(prefix.replace(/\/$/, '') || 'x'))
    throw new ConfigError(
      `bad value for -${option}: ${JSON.stringify(text)} (a bucket and a prefix: s3://BUCKET/PREFIX)`,
    );
  const endpoint =
    (values['store.endpoint'] as string) ||
    (environment['AWS_ENDPOINT_URL_S3'] ?? environment['AWS_ENDPOINT_URL'] ?? '');
  if (endpoint !== '' && !(URL.canParse(endpoint) && /^https?:$/.test(new URL(endpoint).protocol)))
    throw new ConfigError(
      `bad value for -store.endpoint: ${JSON.stringify(endpoint)} (a URL such as https://minio.example.com:9000)`,
    );
  const style = values['store.style'] as 'auto' | 'path' | 'host';
  // A certificate of AWS is for one label before its own name.
  const isPath = endpoint !== '' || bucket.includes('.');
  return Object.freeze({
    bucket,
    prefix: prefix === '' ? '' : `${prefix.replace(/\/+$/, '')}/`,
    endpoint,
    region: values['store.region'] as string,
    style: style === 'auto' ? (isPath ? 'path' : 'host') : style,
  });
};

/** Of `lake serve`; nothing for a lake that is a folder alone. @throws ConfigError */
export const storeConfig = (
  values: Values,
  environment: Environment,
): { readonly store?: StoreConfig; readonly follow?: FollowConfig } => {
  const text = values['store'] as string;
  const followed = values['follow'] as string;
  if (followed !== '') return followConfig(followed, values, environment);
  if (text === '') return {};
  return {
    store: Object.freeze({
      ...storeAddress(text, values, environment),
      ack: values['store.ack'] as StoreConfig['ack'],
      graceMs: values['store.grace'] as number,
      cacheBytesMax: values['cache.max'] as number,
    }),
  };
};
const pollMsMin = 10;
/** @throws ConfigError */
const followConfig = (text: string, values: Values, environment: Environment): { readonly follow: FollowConfig } => {
  for (const option of ['store', 'record'])
    if (values[option] !== '')
      throw new ConfigError(
        `-follow does not go with -${option}: a replica ${option === 'store' ? 'writes to no bucket' : 'has no jobs that could be recorded'}`,
      );
  const url = values['follow.url'] as string;
  if (url !== '' && !(URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)))
    throw new ConfigError(
      `bad value for -follow.url: ${JSON.stringify(url)} (the writer's address, such as http://host1:9867)`,
    );
  const pollMs = values['follow.poll'] as number;
  if (pollMs < pollMsMin) throw new ConfigError(`bad value for -follow.poll: ${pollMs} ms, at least ${pollMsMin} ms`);
  return {
    follow: Object.freeze({
      ...storeAddress(text, values, environment, 'follow'),
      pollMs,
      url,
      token: values['follow.token'] as string,
      graceMs: values['store.grace'] as number,
      cacheBytesMax: values['cache.max'] as number,
    }),
  };
};
