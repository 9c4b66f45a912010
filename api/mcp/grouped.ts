import type { Tool as ListedTool } from '@modelcontextprotocol/server';
import type { Tool, ToolRegistry } from '../tools/registry.ts';
import type { ToolAnswer, ToolArguments } from '../tools/tool.ts';
import { present } from '../tools/present.ts';

const MAX_FOUND = 20;
const reads = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false } as const;

export const SEARCH = 'search_tools';
export const CALL = 'call_tool';

/** In place of every tool: a search over them, by group or word, and a call for clients that call listed tools only. */
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
          limit: { type: 'integer', minimum: 1, maximum: MAX_FOUND, default: 5 },
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

/** The best tools first: a word in the name counts more than one in the description. */
export function searchTools(allowed: readonly Tool[], { query, group, limit }: ToolArguments): ToolAnswer {
  const words =
    typeof query === 'string'
      ? (
          query
            .slice(0, 200)
            .toLowerCase()
            .match(/[a-z0-9]+/g) ?? []
        ).slice(0, 20)
      : [];
  const most = typeof limit === 'number' && limit >= 1 ? Math.min(Math.floor(limit), MAX_FOUND) : 5;
  const scored = allowed
    .filter((tool) => group === undefined || tool.group === group)
    .map((tool) => ({ tool, score: scoreOf(tool, words) }))
    .filter(({ score }) => words.length === 0 || score > 0)
    .sort((one, other) => other.score - one.score);
  const tools = scored.slice(0, most).map(({ tool }) => {
    const { outputSchema: _left, ...shown } = present(tool);
    return shown;
  });
  return { status: 200, body: { success: true, found: scored.length, tools } };
}

function scoreOf({ name, group, description }: Tool, words: readonly string[]): number {
  const text = `${group} ${description}`.toLowerCase();
  return words.reduce((sum, word) => sum + (name.includes(word) ? 5 : 0) + (text.includes(word) ? 1 : 0), 0);
}
