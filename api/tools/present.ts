import type { Tool as ListedTool } from '@modelcontextprotocol/server';
import type { Tool } from './registry.ts';

const presented = new WeakMap<Tool, ListedTool>();

/** Made once for all callers. */
export function present(tool: Tool): ListedTool {
  const known = presented.get(tool);
  if (known) return known;
  const { name, description, inputSchema, outputSchema, annotations, group } = tool;
  const made = {
    name,
    title: annotations.title,
    description,
    inputSchema,
    outputSchema,
    annotations,
    _meta: { group },
  } as ListedTool;
  presented.set(tool, made);
  return made;
}

/** Presents a tool whose calls wait for a person: its first result is a handle, which has another schema. */
export function presentWaiting(tool: Tool): ListedTool {
  const { outputSchema: _ofResult, ...shown } = present(tool);
  return { ...shown, description: `${shown.description}\n\nIn this tenant a call waits for the approval of a person.` };
}
