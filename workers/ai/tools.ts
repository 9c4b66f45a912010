import type { ToolSet } from 'ai';
import type { OfferedTool } from '#shared/apps/ai/tool-calls.ts';
import { loadSDK } from './load-sdk.ts';

/** Tools for the package. None can be executed here: an answer ends with the calls that it asks for. */
export async function toolSetOf(tools: readonly OfferedTool[]): Promise<ToolSet> {
  const { jsonSchema } = await loadSDK();
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => [name, { description, inputSchema: jsonSchema(inputSchema) }]),
  );
}
