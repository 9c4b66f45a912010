import { createMCPClient } from '@ai-sdk/mcp';
import { dynamicTool, generateText, isStepCount, type LanguageModel } from 'ai';
import type { Agent } from './drive.ts';

const MAX_STEPS = 40;

/** A model with the instructions and tools of an MCP service as the AI SDK reads them. It is told of errors, and goes on. */
export function modelAgent(model: LanguageModel, service: { url: string; headers: Record<string, string> }): Agent {
  return async (prompt, call) => {
    const client = await createMCPClient({ transport: { type: 'http', ...service } });
    try {
      const listed = Object.entries(await client.tools());
      const tools = listed.map(([name, { description = '', inputSchema }]) => {
        const execute = (args: unknown) =>
          call(name, args as Record<string, unknown>).catch((error: Error) => error.message);
        return [name, dynamicTool({ description, inputSchema, execute })] as const;
      });
      const { text } = await generateText({
        ...{ model, prompt, tools: Object.fromEntries(tools), stopWhen: isStepCount(MAX_STEPS) },
        ...(client.instructions !== undefined && { system: client.instructions }),
      });
      return text;
    } finally {
      await client.close();
    }
  };
}
