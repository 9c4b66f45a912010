import { type McpRequestContext, ProtocolError, Server } from '@modelcontextprotocol/server';
import { toAppError } from '#shared/core/errors.ts';
import { reported } from '../http/response/report-error.ts';
import { callTool, type Means } from './call-tool.ts';
import { complete } from './completion.ts';
import { instructionsFor } from './instructions.ts';
import { listTools } from './list-tools.ts';
import { findPrompt, prompts } from './prompts.ts';
import { internalError } from './protocol-errors.ts';
import { listResources, readResource, resourceTemplates } from './resources.ts';
import type { Session } from './session.ts';

/**
 * A server for one request, with the permissions of its caller. In the era `modern` a client cancels a call by closing
 * its connection.
 */
export async function createMCPServer(means: Means, session: Session, era: McpRequestContext['era']): Promise<Server> {
  const { registry } = means;
  const instructions = session.isBeginning ? await describeService(means, session) : undefined;
  const server = new Server(
    { name: 'gantry', title: 'Gantry', version: '1.0.0' },
    {
      capabilities: { tools: { listChanged: true }, resources: {}, prompts: {}, completions: {} },
      ...(instructions && { instructions }),
    },
  );
  /** Logs an error of the service, once, and tells the client its id. The library would send the error alone. */
  async function logged<T>(method: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ProtocolError || signal.aborted || toAppError(error).status < 500) throw error;
      const { message, requestID } = reported(means.context.logger, error, { method });
      throw internalError(`${message} (${requestID})`);
    }
  }

  server.setRequestHandler('tools/list', ({ params }, { mcpReq }) =>
    logged('tools/list', mcpReq.signal, () => listTools(means, session, params?.cursor)),
  );
  server.setRequestHandler('tools/call', ({ params }, { mcpReq }) => {
    const signal = eitherOf(mcpReq.signal, session.cancelled);
    const isCancelled = () => wasCancelled(era === 'modern' ? mcpReq.signal : session.cancelled) && !means.isClosing();
    const call = { params, mcpReq: { ...mcpReq, signal }, isCancelled };
    return logged('tools/call', signal, () => callTool(means, session, call));
  });
  server.setRequestHandler('resources/list', ({ params }, { mcpReq }) =>
    logged('resources/list', mcpReq.signal, () => listResources(registry, session, params?.cursor)),
  );
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates }));
  server.setRequestHandler('resources/read', ({ params }, { mcpReq }) =>
    logged('resources/read', mcpReq.signal, () => readResource(registry, session, params.uri)),
  );
  server.setRequestHandler('prompts/list', () => ({ prompts }));
  server.setRequestHandler('prompts/get', ({ params }) => findPrompt(params));
  server.setRequestHandler('completion/complete', ({ params }, { mcpReq }) =>
    logged('completion/complete', mcpReq.signal, () => complete(registry, session, params)),
  );
  return server;
}

async function describeService(means: Means, session: Session): Promise<string> {
  const { tools } = await listTools(means, session, undefined);
  return instructionsFor(new Set(tools.map(({ name }) => name)));
}

function eitherOf(signal: AbortSignal, other: AbortSignal | undefined): AbortSignal {
  return other ? AbortSignal.any([signal, other]) : signal;
}

function wasCancelled(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}
