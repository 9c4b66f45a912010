import { toolsets } from './lists.ts';
import type { ComposedTool, RouteTool, ToolCaller } from './tool.ts';

type Tool = RouteTool | ComposedTool;

/** Tools that every app has: they find assets by title and read the documentation, or call tools that are cut themselves. */
const always: readonly string[] = ['find_assets', 'read_asset', 'get_overview', 'search_docs', 'search_tenant'];

/** Everything of the groups that no toolset has, such as notifications, belongs to the widest scope. */
const WIDEST = 'admin';

/** The scope that a tool needs; undefined for a tool that every app has. */
export function scopeNeeded(tool: Tool): string | undefined {
  if (always.includes(tool.name)) return undefined;
  // Those that count and list assets of all kinds: each list is cut itself.
  if (!('route' in tool) && tool.group === 'Tenants') return undefined;
  return Object.entries(toolsets).find(([, toolset]) => toolset.has(tool))?.[0] ?? WIDEST;
}

/** Whether an app with these scopes may call a tool. Without scopes the caller is no app. */
export function isInScope(tool: Tool, granted: ReadonlySet<string> | undefined): boolean {
  if (granted === undefined) return true;
  const needed = scopeNeeded(tool);
  return needed === undefined || granted.has(needed);
}

/** The scopes of an app that calls; undefined for a caller that is none. */
export function scopesOf({ who }: ToolCaller): ReadonlySet<string> | undefined {
  return 'identity' in who ? who.identity.app?.scopes : undefined;
}
