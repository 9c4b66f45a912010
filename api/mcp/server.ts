import { type McpRequestContext, Server } from '@modelcontextprotocol/server';
import { callTool, type Means } from './call-tool.ts';
import { complete } from './completion.ts';
import { listTools } from './list-tools.ts';
import { findPrompt, prompts } from './prompts.ts';
import { listResources, readResource, resourceTemplates } from './resources.ts';
import type { Session } from './session.ts';

const instructions =
  'Gantry is a backend for admin applications: datasources, queries, workflows, listeners, cron jobs, widgets and pages of one tenant. Begin with get_tenant_resource_summary. Before you create something, read its schema (get_…_schema). A run goes on after execute_workflow has answered: get_workflow_instance follows it.';

/**
 * A server for one request, with the permissions of its caller. In the era `modern` a client cancels a call by closing
 * its connection.
 */
export function createMCPServer(means: Means, session: Session, era: McpRequestContext['era']): Server {
  const { registry } = means;
  const server = new Server(
    { name: 'gantry', title: 'Gantry', version: '1.0.0' },
    { capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} }, instructions },
  );
  server.setRequestHandler('tools/list', ({ params }) => listTools(means, session, params?.cursor));
  server.setRequestHandler('tools/call', ({ params }, { mcpReq }) =>
    callTool(means, session, {
      params,
      mcpReq: { ...mcpReq, signal: eitherOf(mcpReq.signal, session.cancelled) },
      isCancelled: () => wasCancelled(era === 'modern' ? mcpReq.signal : session.cancelled) && !means.isClosing(),
    }),
  );
  server.setRequestHandler('resources/list', ({ params }) => listResources(registry, session, params?.cursor));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates }));
  server.setRequestHandler('resources/read', ({ params }) => readResource(registry, session, params.uri));
  server.setRequestHandler('prompts/list', () => ({ prompts }));
  server.setRequestHandler('prompts/get', ({ params }) => findPrompt(params));
  server.setRequestHandler('completion/complete', ({ params }) => complete(registry, session, params));
  return server;
}

function eitherOf(signal: AbortSignal, other: AbortSignal | undefined): AbortSignal {
  return other ? AbortSignal.any([signal, other]) : signal;
}

function wasCancelled(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}
