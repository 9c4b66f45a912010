import type { Tool } from './registry.ts';

/**
 * Whether a call of a tool needs a confirmation: the tool changes something, or it sends data to a server that its input
 * names, and data of the tenant could be sent there. The annotations come from the route.
 */
export function needsConfirmation(tool: Tool): boolean {
  const { readOnlyHint, openWorldHint } = tool.annotations;
  return !readOnlyHint || (openWorldHint && 'route' in tool && tool.route.method !== 'get');
}
