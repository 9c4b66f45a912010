import createRest, { type Client } from 'openapi-fetch';
import type { Call, InputArguments, Item, ListName } from './calls.ts';
import { errorOf } from './errors.ts';
import { operations } from './operations.ts';
import type { paths } from './rest.ts';
import { createRuns, type Runs } from './runs.ts';
import { createSend } from './send.ts';

export interface GantryOptions {
  /** The address of the API, such as `https://gantry.example.com`. */
  baseURL: string;
  /** An ID token or an operator's token, or a function that answers with a valid one; or an API key. Without: public operations. */
  auth?: { token: string | (() => string | Promise<string>) } | { apiKey: string };
  /** How often a request that may be repeated is sent again; 3 by default. */
  retries?: number;
  /** How long an attempt may take until the answer begins; 120 s by default, which is longer than any answer waits. */
  timeoutMs?: number;
  fetch?: (request: Request) => Promise<Response>;
}

export interface Gantry extends Runs {
  readonly call: Call;
  /** The rows of a list, page after page. */
  pages<N extends ListName>(name: N, ...input: InputArguments<N>): AsyncGenerator<Item<N>, void, undefined>;
  /** The same requests by path, with `data` and `error` in the answer as openapi-fetch has them. */
  readonly rest: Client<paths>;
}

export function createGantry({ baseURL, auth, retries = 3, timeoutMs = 120_000, ...given }: GantryOptions): Gantry {
  const fetch = given.fetch ?? ((request: Request) => globalThis.fetch(request));
  const rest = createRest<paths>({ baseUrl: baseURL, fetch: createSend({ fetch, retries, timeoutMs }) });
  rest.use({
    async onRequest({ request, schemaPath }) {
      for (const [name, value] of await credentials(auth)) request.headers.set(name, value);
      if (keyed.has(`${request.method} ${schemaPath}`) && !request.headers.has('idempotency-key'))
        request.headers.set('idempotency-key', crypto.randomUUID());
      return request;
    },
  });

  const call: Call = async (name, ...[input]) => {
    const { path, query, header, body, signal, idempotencyKey }: Given = input ?? {};
    const { method, path: address, answers = 'json' }: Described = operations[name];
    const { data, response, error } = await (rest.request as RequestByName)(method, address, {
      params: { path, query, header: { ...header, ...(idempotencyKey && { 'Idempotency-Key': idempotencyKey }) } },
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
      ...(body instanceof FormData && { bodySerializer: (form: unknown) => form }),
      ...(answers === 'location' && { redirect: 'manual' }),
      parseAs: answers === 'location' ? 'text' : answers,
    });
    if (answers === 'location' && response.headers.has('location')) return response.headers.get('location') as never;
    if (!response.ok) throw errorOf(response, error);
    // The operation's entry in the document says what its answer is.
    return data as never;
  };

  async function* pages<N extends ListName>(name: N, ...[input]: InputArguments<N>) {
    const { query, ...rest }: Given = input ?? {};
    let cursor: string | null | undefined;
    do {
      const asked = { ...rest, query: { ...query, ...(cursor && { cursor }) } };
      const page = (await call(name, ...([asked] as never))) as Page;
      yield* page[operations[name].items] as Item<N>[];
      cursor = page.nextCursor;
    } while (cursor);
  }

  return { call, pages, rest, ...createRuns(call) };
}

/** An input without the types of its operation. */
interface Given {
  path?: object;
  query?: object;
  header?: object;
  body?: unknown;
  signal?: AbortSignal;
  idempotencyKey?: string;
}

interface Described {
  method: string;
  path: string;
  answers?: 'json' | 'blob' | 'stream' | 'location';
}

interface Page extends Record<string, unknown> {
  nextCursor?: string | null;
}

/** `Client.request` for an operation that is known only when it is called. */
type RequestByName = (
  method: string,
  path: string,
  init: object,
) => Promise<{ data?: unknown; error?: unknown; response: Response }>;

/** Methods and paths of the operations that take an idempotency key. */
const keyed: ReadonlySet<string> = new Set(
  Object.values(operations)
    .filter((operation) => 'takesKey' in operation)
    .map(({ method, path }) => `${method.toUpperCase()} ${path}`),
);

async function credentials(auth: GantryOptions['auth']): Promise<[string, string][]> {
  if (!auth) return [];
  if ('apiKey' in auth) return [['x-api-key', auth.apiKey]];
  const token = typeof auth.token === 'string' ? auth.token : await auth.token();
  return [['authorization', `Bearer ${token}`]];
}
