import type { ComposedTool, ToolDefinition } from '../tool.ts';
import { composed } from './define.ts';
import { draftTools } from './drafts.ts';
import { findTools } from './find.ts';
import { searchDocs } from './guides.ts';
import { rowTools } from './rows.ts';
import { runTools } from './runs.ts';

/** Tools for tasks of agents, which call the tools that are given. */
export function agentTools(others: readonly ToolDefinition[]): ComposedTool[] {
  const byName = new Map(others.map((tool) => [tool.name, tool]));
  function requiredOf(name: string) {
    const tool = byName.get(name);
    if (!tool) throw new Error(`There is no tool ${name}`);
    return tool.required;
  }
  return [...findTools, ...runTools, ...rowTools, ...draftTools, searchDocs].map((tool) => composed(tool, requiredOf));
}
