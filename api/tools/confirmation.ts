import type { Tool } from './registry.ts';

/**
 * A tool needs it that changes something, or sends something to a server that its input names: data of the tenant could leave with it. The routes
 * say which they are.
 */
export function needsConfirmation(tool: Tool): boolean {
  const { readOnlyHint, openWorldHint } = tool.annotations;
  return !readOnlyHint || (openWorldHint && 'route' in tool && tool.route.method !== 'get');
}
