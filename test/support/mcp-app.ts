import { Client, type OAuthClientProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { MCP } from '#api/mcp/listen.ts';
import type { Cluster } from './cluster.ts';
import { startMCPOf } from './mcp.ts';
import { password, site, startSignInCluster, visit } from './sign-in.ts';
import type { Page, Visitor } from './visitor.ts';

/** The name of the MCP service with the built-in sign-in; only the tests' fetch resolves it. */
export const mcpSite = 'https://mcp.gantry.test';
export const loopbackURI = 'http://127.0.0.1:33418/callback';

export interface AppDeployment extends AsyncDisposable {
  cluster: Cluster;
  mcp: MCP;
  /** For programs: resolves the names of this deployment. `ip`: their network. */
  fetchFrom(ip?: string): typeof fetch;
}

/** The API with the built-in sign-in, and the MCP service. */
export async function startAppDeployment(): Promise<AppDeployment> {
  await using resources = new AsyncDisposableStack();
  const cluster = resources.use(await startSignInCluster({ settings: { MCP_PUBLIC_URL: mcpSite } }));
  const mcp = resources.use(await startMCPOf(cluster));
  const owned = resources.move();
  return {
    cluster,
    mcp,
    fetchFrom: (ip) => fetchOf({ cluster, mcp }, ip),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

let networks = 0;

function fetchOf({ cluster, mcp }: { cluster: Cluster; mcp: MCP }, ip = nextNetwork()): typeof fetch {
  const servers: Record<string, string> = { [site]: cluster.baseURL, [mcpSite]: `http://127.0.0.1:${mcp.port}` };
  return (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const headers = new Headers(init?.headers);
    headers.set('x-forwarded-for', ip);
    return fetch(`${servers[url.origin] ?? url.origin}${url.pathname}${url.search}`, { ...init, headers });
  };
}

/** Registrations are counted by networks. */
function nextNetwork(): string {
  networks += 1;
  return `198.18.${Math.floor(networks / 250)}.${(networks % 250) + 1}`;
}

export function mcpURL(tenantID: string): string {
  return `${mcpSite}/tenants/${tenantID}/mcp`;
}

/** Which boxes the user ticks; absent: as the page has them. */
export interface Consent {
  scopes?: readonly string[];
  stays?: boolean;
  decision?: 'allow' | 'deny';
}

/** Signs in where the page asks for it, and answers with the page of the consent. */
export async function openConsent(visitor: Visitor, url: URL, email: string): Promise<Page> {
  const page = await visitor.open(url.href);
  if (!page.text.includes('name="password"')) return page;
  return await visitor.submit(page, { email, password });
}

/** Sends the form of the consent, with the boxes as a browser would. */
export async function answerConsent(visitor: Visitor, page: Page, consent: Consent = {}): Promise<Page> {
  const { scopes = tickedIn(page), stays = true, decision = 'allow' } = consent;
  const [, action = ''] = /<form[^>]* action="([^"]+)"/.exec(page.text) ?? [];
  const form = [
    ...scopes.map((scope) => ['scope', scope]),
    ...(stays ? [['stay', 'yes']] : []),
    ['decision', decision],
  ];
  return await visitor.open(action, { form: form as [string, string][] });
}

function tickedIn({ text }: Page): string[] {
  return [...text.matchAll(/name="scope" value="(\w+)" checked/g)].map(([, scope = '']) => scope);
}

interface AppSettings {
  email: string;
  fetch: typeof fetch;
  visitor: Visitor;
  consent?: Consent;
  name?: string;
}

/** The memory of a program that signs its user in: nothing at first. The user agrees in the browser `visitor`. */
function anApp({ email, fetch, visitor, consent, name = 'A test app' }: AppSettings) {
  const stored: {
    client?: { client_id: string };
    tokens?: { access_token: string; refresh_token?: string; scope?: string };
    verifier: string;
    callback?: URL;
    asked: URL[];
  } = { verifier: '', asked: [] };
  const provider: OAuthClientProvider = {
    redirectUrl: loopbackURI,
    clientMetadata: {
      client_name: name,
      redirect_uris: [loopbackURI],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    clientInformation: () => stored.client,
    saveClientInformation: (client) => void Object.assign(stored, { client }),
    tokens: () => stored.tokens as never,
    saveTokens: (tokens) => void Object.assign(stored, { tokens }),
    saveCodeVerifier: (verifier) => void Object.assign(stored, { verifier }),
    codeVerifier: () => stored.verifier,
    async redirectToAuthorization(url) {
      stored.asked.push(url);
      const page = await openConsent(visitor, url, email);
      const answer = await answerConsent(visitor, page, consent);
      stored.callback = answer.leadsTo;
    },
  };
  return {
    stored,
    provider,
    transport: (url: string) => new StreamableHTTPClientTransport(new URL(url), { authProvider: provider, fetch }),
  };
}

/** An app that its user has connected, and its client of MCP. */
export async function connectApp(
  { cluster, fetchFrom }: AppDeployment,
  { email, tenantID, query = '', ...more }: { email: string; tenantID: string; query?: string } & Partial<AppSettings>,
) {
  const app = anApp({ email, fetch: fetchFrom(), visitor: visit(cluster), ...more });
  const url = mcpURL(tenantID) + query;
  const first = app.transport(url);
  await new Client({ name: 'test', version: '1' }).connect(first).catch(() => undefined);
  await first.finishAuth(app.stored.callback?.searchParams ?? new URLSearchParams());
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(app.transport(url));
  return Object.assign(app, { client });
}
