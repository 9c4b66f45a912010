import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type MCP, startMCP } from '#api/mcp/listen.ts';
import type { Cluster } from './cluster.ts';

/** Starts the MCP service of a cluster at a free port. */
export function startMCPOf({ config, context }: Pick<Cluster, 'config' | 'context'>): Promise<MCP> {
  const settings = { ...config, mcp: { ...config.mcp, port: 0 } };
  return startMCP({ config: settings, logger: context.logger, context });
}

interface Connecting {
  mcp: Pick<MCP, 'port'>;
  tenantID: string;
  headers: Record<string, string>;
  /** With its question mark. */
  query?: string;
  options?: ClientOptions;
}

/** A client of the present version of the protocol, which is closed when disposed. */
export async function connectMCP({ mcp, tenantID, headers, query = '', options }: Connecting) {
  const versionNegotiation = { mode: { pin: '2026-07-28' } } as const;
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation, ...options });
  const url = new URL(`http://127.0.0.1:${mcp.port}/tenants/${tenantID}/mcp${query}`);
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}
