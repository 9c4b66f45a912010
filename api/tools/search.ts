import { present } from './present.ts';
import type { Tool } from './registry.ts';
import type { ToolArguments, ToolResult } from './tool.ts';

export const MAX_FOUND = 20;

/** Finds the tools that match best, best first. A word in the name counts more than a word in the description. */
export function searchTools(allowed: readonly Tool[], { query, group, limit }: ToolArguments): ToolResult {
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
