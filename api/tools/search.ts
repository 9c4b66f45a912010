import { present } from './present.ts';
import type { Tool, ToolRegistry } from './registry.ts';
import type { ToolArguments, ToolResult } from './tool.ts';
import { WordIndex } from './word-index.ts';

export const MAX_FOUND = 20;

interface Described {
  tool: Tool;
  words: string;
  group: string;
  description: string;
}

const indexes = new WeakMap<ToolRegistry, WordIndex<Described>>();

function indexOf(registry: ToolRegistry): WordIndex<Described> {
  let index = indexes.get(registry);
  if (!index) {
    const described = [...registry.tools.values()].map((tool) => ({
      ...{ tool, words: `${tool.name} ${tool.annotations.title}`, group: tool.group, description: tool.description },
    }));
    index = new WordIndex(described, ['words', 'group', 'description'], { words: 3 });
    indexes.set(registry, index);
  }
  return index;
}

/** Finds the tools that match best, best first. A word in the name counts more than a word in the description. */
export function searchTools(
  registry: ToolRegistry,
  allowed: readonly Tool[],
  { query, group, limit }: ToolArguments,
): ToolResult {
  const most = typeof limit === 'number' && limit >= 1 ? Math.min(Math.floor(limit), MAX_FOUND) : 5;
  const mayCall = new Set(allowed);
  const asked = typeof query === 'string' && /[\p{L}\p{N}]/u.test(query);
  const matching = asked
    ? indexOf(registry)
        .find(query)
        .map(({ tool }) => tool)
    : allowed;
  const found = matching.filter((tool) => mayCall.has(tool) && (group === undefined || tool.group === group));
  const tools = found.slice(0, most).map((tool) => {
    const { outputSchema: _left, ...shown } = present(tool);
    return shown;
  });
  return { status: 200, body: { success: true, found: found.length, tools } };
}
