/** Sends a request to the public API. Throws the message of an answer that is an error. */
export type Call = <T>(method: string, path: string, body?: object) => Promise<T>;

export function createCall(baseURL: string, token?: string): Call {
  return async <T>(method: string, path: string, body?: object) => {
    const isForm = body instanceof FormData;
    const response = await fetch(baseURL + path, {
      method,
      headers: {
        prefer: 'handling=strict',
        ...(body && !isForm && { 'content-type': 'application/json' }),
        ...(token && { authorization: `Bearer ${token}` }),
      },
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
    });
    const answer = (await response.json()) as T & { error?: { message: string } };
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${answer.error?.message}`);
    return answer;
  };
}

const EMAIL = 'you@example.com';

/** A command that stores a token of the development issuer in `TOKEN`. */
export function tokenCommand(baseURL: string): string {
  return `TOKEN=$(curl -s ${baseURL}/dev/token -H 'content-type: application/json' -d '{"email":"${EMAIL}"}' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')`;
}

export async function developmentToken(baseURL: string): Promise<string> {
  const { token } = await createCall(baseURL)<{ token: string }>('POST', '/dev/token', { email: EMAIL });
  return token;
}

const TENANT = 'Sample';

/** The id of the tenant for samples, which is created if the caller has none. */
export async function sampleTenant(call: Call): Promise<string> {
  const { tenants } = await call<{ tenants: { id: string; tenantTitle: string }[] }>('GET', '/api/v1/tenants');
  const known = tenants.find(({ tenantTitle }) => tenantTitle === TENANT);
  if (known) return known.id;
  const { tenant } = await call<{ tenant: { id: string } }>('POST', '/api/v1/tenants', { tenantTitle: TENANT });
  return tenant.id;
}
