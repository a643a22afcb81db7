/**
 * Requests of OTLP as protobufjs writes them, with the code that OpenTelemetry's own exporters have: an encoder that is
 * not ours.
 */
import { createRequire } from 'node:module';
import type { Signal } from '../../../src/formats/otlp/schema.ts';

/** A type of protobufjs' static code. */
interface MessageType {
  fromObject(of: object): object;
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
}
const { opentelemetry } = createRequire(import.meta.url)(
  '@opentelemetry/otlp-transformer/build/src/generated/root',
) as {
  readonly opentelemetry: {
    readonly proto: { readonly collector: Readonly<Record<string, { readonly v1: Record<string, MessageType> }>> };
  };
};

const names = { logs: ['logs', 'Logs'], traces: ['trace', 'Trace'], metrics: ['metrics', 'Metrics'] } as const;
const typeOf = (signal: Signal): MessageType => {
  const [folder, name] = names[signal];
  return opentelemetry.proto.collector[folder]!.v1[`Export${name}ServiceRequest`]!;
};

/** The bytes of a request; ids and bytes in it are arrays of bytes. */
export const otlpBytes = (signal: Signal, request: object): Uint8Array => {
  const type = typeOf(signal);
  return new Uint8Array(type.encode(type.fromObject(request)).finish());
};

/** The same as OTLP's JSON: ids in hexadecimal, other bytes in base64. */
export const otlpJson = (request: object): string =>
  JSON.stringify(request, (name, value: unknown) => {
    const bytes = bytesOf(value);
    if (bytes) return bytes.toString(name.endsWith('Id') ? 'hex' : 'base64');
    if (typeof value !== 'number' || Number.isFinite(value)) return value;
    return String(value);
  });
/** Buffers come here as what their `toJSON` made of them. */
const bytesOf = (value: unknown): Buffer | undefined => {
  if (value instanceof Uint8Array) return Buffer.from(value);
  const { type, data } = (value ?? {}) as { readonly type?: unknown; readonly data?: unknown };
  return type === 'Buffer' && Array.isArray(data) ? Buffer.from(data as number[]) : undefined;
};

/** A request of logs with these records, of one resource and one scope. */
export const logsOf = (...logRecords: readonly object[]): object => ({
  resourceLogs: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] },
      scopeLogs: [{ scope: { name: 'shop.http', version: '1.2' }, logRecords }],
    },
  ],
});
/** A record with this body text, at a time of so many seconds. */
export const logRecord = (text: string, seconds = 1): object => ({
  timeUnixNano: `${1_764_300_000 + seconds}000000000`,
  body: { stringValue: text },
});
