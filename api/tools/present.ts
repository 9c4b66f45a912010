import type { Tool as ListedTool } from '@modelcontextprotocol/server';
import type { Tool } from './registry.ts';

const presented = new WeakMap<Tool, ListedTool>();

/** Presents a tool. The result is cached for all callers. */
export function present(tool: Tool): ListedTool {
  const known = presented.get(tool);
  if (known) return known;
  const { name, description, inputSchema, outputSchema, annotations, group } = tool;
  const shown = {
    name,
    title: annotations.title,
    description,
    inputSchema,
    outputSchema,
    annotations,
    _meta: { group },
  } as ListedTool;
  presented.set(tool, shown);
  return shown;
}

/**
 * Presents a tool whose calls wait for a person: its first result is the id of the call, to which the schema of the
 * output does not apply.
 */
export function presentWaiting(tool: Tool): ListedTool {
  const { outputSchema: _ofResult, ...shown } = present(tool);
  return { ...shown, description: `${shown.description}\n\nIn this tenant a call waits for the approval of a person.` };
}
