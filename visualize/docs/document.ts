/** The OpenAPI document as the page reads it: endpoints by tag, references followed. */

/** As much of a JSON schema as is shown. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly format?: string;
  readonly examples?: readonly unknown[];
}
/** A body in one media type. */
export interface Media {
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;
}
/** A parameter in path, query or headers; `content` in place of `schema` for one that is JSON. */
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
  readonly content?: Readonly<Record<string, Media>>;
  readonly example?: unknown;
}
/** An answer of one status. `x-errors`: codes of the errors that it can be. */
export interface Answer {
  readonly description: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, Media>>;
  readonly 'x-errors'?: readonly string[];
}
interface RawOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: {
    readonly description: string;
    readonly required?: boolean;
    readonly content: Readonly<Record<string, Media>>;
  };
  readonly responses: Readonly<Record<string, Answer>>;
  readonly security?: readonly unknown[];
  readonly 'x-same-as'?: string;
  /** It is there to change something. */
  readonly 'x-writes'?: boolean;
  readonly 'x-events'?: Readonly<
    Record<string, { readonly when: string; readonly superdb: string; readonly data: Schema }>
  >;
}
/** As much of the document as is read. */
export interface Document {
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly summary: string;
    readonly description: string;
  };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly 'x-errors': Readonly<
      Record<string, { readonly status: number; readonly kind: string; readonly text: string }>
    >;
  };
}
/** An endpoint. `anyMethod`: it answers every one. `text`: what a search looks through. */
export interface Endpoint extends Omit<RawOperation, 'parameters'> {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly anyMethod: boolean;
  readonly guarded: boolean;
  readonly text: string;
}

/** The last part of a reference: `Pool` of `#/components/schemas/Pool`. */
export const nameOfRef = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1);

/**
 * The endpoints in the document's order, one for each operation but those that are the same by another method
 * (`x-same-as`).
 */
export const endpointsOf = (document: Document): readonly Endpoint[] =>
  Object.entries(document.paths).flatMap(([path, item]) => {
    const operations = Object.entries(item);
    return operations
      .filter(([, operation]) => operation['x-same-as'] === undefined)
      .map(([method, operation]): Endpoint => {
        const parameters = (operation.parameters ?? []).map((p) =>
          '$ref' in p ? document.components.parameters[nameOfRef(p.$ref)]! : p,
        );
        const errors = Object.values(operation.responses).flatMap((answer) => answer['x-errors'] ?? []);
        return {
          ...operation,
          method: method.toUpperCase(),
          path,
          parameters,
          anyMethod: operations.some(([, other]) => other['x-same-as'] === operation.operationId),
          guarded: (operation.security?.length ?? 0) > 0,
          text: [
            method,
            path,
            operation.operationId,
            operation.summary,
            operation.description,
            ...operation.tags,
            ...parameters.map((p) => p.name),
            ...errors,
            ...Object.keys(operation['x-events'] ?? {}),
          ]
            .join('\n')
            .toLowerCase(),
        };
      });
  });

/** Those that have every word. */
export const found = (endpoints: readonly Endpoint[], search: string): readonly Endpoint[] => {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  return words.length === 0 ? endpoints : endpoints.filter(({ text }) => words.every((word) => text.includes(word)));
};

/** Of parameters that are to be filled in: what is shown to begin with. */
export const defaultOf = ({ schema, example }: Parameter): string => String(example ?? schema?.examples?.[0] ?? '');

/** Where the service is, without a slash at the end: this page stands beside its endpoints. */
export const baseUrl = (): string => new URL('.', document.baseURI).href.replace(/\/$/, '');

/** The address of a request; parameters that are empty are left out of the query. */
export const addressOf = ({ path, parameters }: Endpoint, values: Readonly<Record<string, string>>): string => {
  const query = new URLSearchParams(
    parameters.filter((p) => p.in === 'query' && (values[p.name] ?? '') !== '').map((p) => [p.name, values[p.name]!]),
  ).toString();
  return (
    path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? '').replaceAll('.', '%2E')) +
    (query === '' ? '' : `?${query}`)
  );
};

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const ids = /"(0x[0-9a-f]{40})"/g;

/** A body that an endpoint takes, on one line. */
export const exampleOf = ({
  content,
}: NonNullable<Endpoint['requestBody']>): { readonly type: string; readonly text: string } => {
  const type = ['application/json', 'application/x-sup'].find((each) => content[each]?.examples)!;
  const value = Object.values(content[type]?.examples ?? {})[0]?.value;
  const text = JSON.stringify(value ?? {});
  return { type, text: type === 'application/x-sup' ? text.replaceAll(ids, '$1') : text };
};
/** A line for a shell that does what the endpoint is for. */
export const curlOf = (endpoint: Endpoint): string => {
  const { method, parameters, requestBody, responses, guarded, path } = endpoint;
  const values = Object.fromEntries(
    parameters.filter((p) => p.in === 'path').map((p) => [p.name, defaultOf(p) || `{${p.name}}`]),
  );
  const shown = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    values[name]!.startsWith('{') ? values[name]! : encodeURIComponent(values[name]!),
  );
  const parts = [
    'curl',
    ...(method === 'GET' || (method === 'POST' && requestBody) ? [] : ['-X', method]),
    quoted(`${baseUrl()}${shown}`),
  ];
  if (path === '/events') parts.splice(1, 0, '-N');
  if (guarded) parts.push('-H', '"Authorization: Bearer $LAKE_TOKEN"');
  if (responses['200']?.content?.['application/json'] || path === '/events')
    parts.push('-H', quoted('Accept: application/json'));
  if (requestBody) {
    const { type, text } = exampleOf(requestBody);
    parts.push('-H', quoted(`Content-Type: ${type}`), '-d', quoted(text));
  }
  return parts.join(' ');
};

/** What a schema is, in a few words. */
export const typeOf = (schema: Schema): string => {
  if (schema.$ref !== undefined) return nameOfRef(schema.$ref);
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((x) => JSON.stringify(x)).join(', ');
  if (schema.type === 'array') return `array of ${schema.items ? typeOf(schema.items) : 'anything'}`;
  return schema.type ?? 'anything';
};
/** What limits its values. */
export const limitsOf = ({ minimum, maximum, minLength, maxLength, pattern, items }: Schema): string =>
  [
    minimum !== undefined && minimum > -Number.MAX_SAFE_INTEGER ? `at least ${minimum}` : '',
    maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? `at most ${maximum}` : '',
    minLength !== undefined && minLength > 1 ? `at least ${minLength} characters` : '',
    maxLength === undefined ? '' : `at most ${maxLength} characters`,
    pattern === undefined ? '' : pattern,
    items?.pattern ?? '',
  ]
    .filter((text) => text !== '')
    .join('; ');
