import type { Tool as ListedTool } from '@modelcontextprotocol/server';
import type { Tool, ToolRegistry } from '../tools/registry.ts';
import { MAX_FOUND } from '../tools/search.ts';

const reads = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false } as const;

export const SEARCH = 'search_tools';

export const CALL = 'call_tool';

/**
 * The two tools that replace the list of all tools: a search by group or word, and a call for clients that call listed
 * tools only.
 */
export function groupTools({ groups }: ToolRegistry, allowed: readonly Tool[]): ListedTool[] {
  const counted = groups.flatMap(({ name, description }) => {
    const tools = allowed.filter(({ group }) => group === name).length;
    return tools === 0 ? [] : [{ name, description, tools }];
  });
  const list = counted.map(({ name, description, tools }) => `- ${name} (${tools}): ${description}`).join('\n');
  return [
    {
      name: SEARCH,
      title: 'Search tools',
      description: `Find the tools of this tenant. Answers with their names, descriptions and input schemas.\n\nUse it before call_tool, with words of what you want to do, a group, or both. The groups:\n${list}\n\nCost: low; it changes nothing.`,
      inputSchema: {
        type: 'object',
        properties: {
          query: { type: 'string', description: 'Words that the name or the description has' },
          group: { type: 'string', enum: counted.map(({ name }) => name) },
          limit: { type: 'integer', minimum: 1, maximum: MAX_FOUND, description: 'Default: 5' },
        },
      },
      annotations: { title: 'Search tools', ...reads },
    },
    {
      name: CALL,
      title: 'Call a tool',
      description:
        'Call a tool that search_tools has found, with the arguments of its input schema.\n\nUse it if your client calls only tools that are listed; any other may call the tool by its name.\n\nCost: that of the tool.',
      inputSchema: {
        type: 'object',
        properties: { name: { type: 'string' }, arguments: { type: 'object' } },
        required: ['name'],
      },
      annotations: {
        title: 'Call a tool',
        readOnlyHint: false,
        destructiveHint: true,
        idempotentHint: false,
        openWorldHint: true,
      },
    },
  ];
}
