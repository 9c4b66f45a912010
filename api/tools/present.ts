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

/** The same for a list that models read: without the schema of the answer, which is most of the bytes. */
export function presentShort(tool: Tool): ListedTool {
  const { name, title, description, inputSchema, annotations } = present(tool);
  const { title: _said, ...hints } = annotations ?? {};
  return { name, title, description, inputSchema, annotations: hints } as ListedTool;
}

/**
 * Presents a tool whose calls wait for a person: its first result is the id of the call, to which the schema of the
 * output does not apply.
 */
export function presentWaiting(tool: Tool, as = present): ListedTool {
  const { outputSchema: _ofResult, ...shown } = as(tool);
  return { ...shown, description: `${shown.description}\n\nIn this tenant a call waits for the approval of a person.` };
}
