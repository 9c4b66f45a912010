import type { Tool as ListedTool } from '@modelcontextprotocol/server';
import type { Tool, ToolRegistry } from '../tools/registry.ts';
import { MAX_FOUND } from '../tools/search.ts';

const reads = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false } as const;

export const FIND = 'find_tools';
export const CALL = 'call_tool';

/** The name of the search in the list `grouped`. */
export const SEARCH = 'search_tools';

/** The tools by which a model finds and calls those that its list does not have. */
export function finderTools(registry: ToolRegistry, allowed: readonly Tool[]): ListedTool[] {
  return [findTool(FIND, registry, allowed), callTool(FIND)];
}

/** The same two by the names of the list that has no other. */
export function groupedTools(registry: ToolRegistry, allowed: readonly Tool[]): ListedTool[] {
  return [findTool(SEARCH, registry, allowed), callTool(SEARCH)];
}

function findTool(name: string, { groups }: ToolRegistry, allowed: readonly Tool[]): ListedTool {
  const counted = groups.flatMap((group) => {
    const tools = allowed.filter((tool) => tool.group === group.name).length;
    return tools === 0 ? [] : [{ name: group.name, tools }];
  });
  const list = counted.map((group) => `${group.name} (${group.tools})`).join(', ');
  return {
    name,
    title: 'Find tools',
    description: `Find the other tools of this tenant, with their inputs. By group there are: ${list}.\n\nUse it where no tool of your list fits, with words of what you want to do, a group, or both.\n\nCost: low; it changes nothing.`,
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Words that the name or the description has' },
        group: { type: 'string', enum: counted.map((group) => group.name) },
        limit: { type: 'integer', minimum: 1, maximum: MAX_FOUND, description: 'Default: 5' },
      },
    },
    annotations: reads,
  };
}

function callTool(finder: string): ListedTool {
  return {
    name: CALL,
    title: 'Call a tool',
    description: `Call any tool that ${finder} has found, with the arguments of its input.\n\nUse it for tools that your list does not have.\n\nCost: that of the tool.`,
    inputSchema: {
      type: 'object',
      properties: {
        name: { type: 'string' },
        arguments: { type: 'object' },
        offset: { type: 'integer', minimum: 0, description: 'Where to read a long answer on, in characters' },
      },
      required: ['name'],
    },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  };
}
