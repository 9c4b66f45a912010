/** An answer as a client sees it. The body has the shape that the service sent, so it is typed `any`. */
export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any;
  headers: Headers;
}

type Send = (path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;

/** The headers of a request whose unknown fields are not errors, as for clients that do not ask for strict handling. */
export const lenient = { prefer: 'handling=lenient' };

export interface Client {
  get: (path: string, headers?: Record<string, string>) => Promise<Answer>;
  post: Send;
  put: Send;
  patch: Send;
  delete: Send;
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** The same person, with paths that begin with `T` meaning this tenant. */
  in(tenant: { id: string }): Client;
}

/**
 * `credential` makes the authentication headers of each request. A field that the service does not know is an error, unless a
 * test asks for `lenient` handling.
 */
export function createClient(
  baseURL: string,
  credential: () => Promise<Record<string, string>>,
  tenantID?: string,
): Client {
  async function request(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await fetch(baseURL + path.replace(/^T(?=\/|\?|$)/, `/api/v1/tenants/${tenantID}`), {
      method: method.toUpperCase(),
      redirect: 'manual',
      headers: {
        ...(await credential()),
        prefer: 'handling=strict',
        // fetch sets the content type of a form, with its boundary.
        ...(body !== undefined && !(body instanceof FormData) && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && {
        body: typeof body === 'string' || body instanceof FormData ? body : JSON.stringify(body),
      }),
    });
    const text = await response.text();
    const isJSON = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
    return { status: response.status, body: isJSON ? JSON.parse(text) : text, headers: response.headers };
  }

  return {
    request,
    get: (path, headers) => request('get', path, undefined, headers),
    post: (path, body, headers) => request('post', path, body, headers),
    put: (path, body, headers) => request('put', path, body, headers),
    patch: (path, body, headers) => request('patch', path, body, headers),
    delete: (path, body, headers) => request('delete', path, body, headers),
    in: ({ id }) => createClient(baseURL, credential, id),
  };
}
