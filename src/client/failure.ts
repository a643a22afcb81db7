/** What a request of the client can end in. */

/**
 * Where in the query's text a fault is: offsets in UTF-16 units, as JavaScript counts them, of its first and its last
 * one; `end` is -1 where it is one point.
 */
export interface FaultPlace {
  readonly message: string;
  readonly start: number;
  readonly end: number;
}

/** The service refused a request, or a query failed on its way. */
export class LakeFailure extends Error {
  override readonly name = 'LakeFailure';
  /** HTTP status; 200 for a query that failed after its first row. */
  readonly status: number;
  /** The service's word for the kind of fault: `item does not exist`, `conflict with pending operation` ... */
  readonly kind: string;
  readonly hint: string | undefined;
  readonly places: readonly FaultPlace[];
  readonly requestId: string | undefined;

  constructor(
    message: string,
    facts: {
      readonly status: number;
      readonly kind?: string | undefined;
      readonly hint?: string | undefined;
      readonly places?: readonly FaultPlace[];
      readonly requestId?: string | undefined;
    },
  ) {
    super(message);
    this.status = facts.status;
    this.kind = facts.kind ?? 'other error';
    this.hint = facts.hint;
    this.places = facts.places ?? [];
    this.requestId = facts.requestId;
  }
}

const field = (json: unknown, name: string): unknown =>
  typeof json === 'object' && json !== null ? (json as Readonly<Record<string, unknown>>)[name] : undefined;
const textField = (json: unknown, name: string): string | undefined => {
  const value = field(json, name);
  return typeof value === 'string' ? value : undefined;
};

/** The service counts bytes of UTF-8. */
const placesOf = (faults: readonly unknown[], text: string): readonly FaultPlace[] => {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const unitsBefore = (byte: number): number => decoder.decode(bytes.subarray(0, Math.max(0, byte))).length;
  return faults.map((fault): FaultPlace => {
    const end = Number(field(fault, 'End'));
    return {
      message: textField(fault, 'Msg') ?? '',
      start: unitsBefore(Number(field(fault, 'Pos'))),
      end: end < 0 ? -1 : unitsBefore(end + 1) - 1,
    };
  });
};

/** The failure that an answer other than 2xx tells of; `text`: the query that was asked, if it was one. */
export const failureOf = async (response: Response, text = ''): Promise<LakeFailure> => {
  const body = await response.text();
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    json = undefined;
  }
  const faults = field(json, 'compilation_errors');
  const places = Array.isArray(faults) ? placesOf(faults, text) : [];
  const kind = textField(json, 'kind');
  const hint = textField(json, 'hint');
  const requestId = response.headers.get('x-request-id') ?? undefined;
  return new LakeFailure(textField(json, 'error') ?? (body.trim() || `HTTP ${response.status}`), {
    status: response.status,
    places,
    kind,
    hint,
    requestId,
  });
};
