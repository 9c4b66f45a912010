import { REDACTED, readable } from '#shared/access/audit/redact.ts';
import type { Json } from '#shared/core/json.ts';
import type { Identified } from './identify.ts';

/** Answers that routes need about the tools of models. */
export interface ToolRights {
  /** The given names whose tool the caller may not call; names of no tool are left out. */
  refused(tenantID: string, identity: Identified, names: readonly string[]): Promise<string[]>;
  /**
   * The input of a tool call, without secrets, as the audit trail stores it: nothing of it if the tool's route is
   * private.
   */
  auditableInput(name: string, input: Json): Promise<Json>;
}

interface Described {
  tools: ReadonlyMap<string, object | { route: { isPrivate?: true; isSecret?: true } }>;
  allowed(tenantID: string, identity: Identified): Promise<readonly { name: string }[]>;
}

/**
 * Tools are made from the routes, and handlers of routes ask for these rights. `use` closes that circle before the first
 * request.
 */
export function createToolRights(): ToolRights & { use(open: () => Promise<Described>): void } {
  let open: (() => Promise<Described>) | undefined;
  function described(): Promise<Described> {
    if (!open) throw new Error('Tools are asked for before the routes are known');
    return open();
  }
  return {
    use(openRegistry) {
      open = openRegistry;
    },
    async refused(tenantID, identity, names) {
      if (names.length === 0) return [];
      const { tools, allowed } = await described();
      const own = new Set((await allowed(tenantID, identity)).map(({ name }) => name));
      return names.filter((name) => tools.has(name) && !own.has(name));
    },
    async auditableInput(name, input) {
      const tool = (await described()).tools.get(name);
      const isPrivate = tool && 'route' in tool && (tool.route.isPrivate || tool.route.isSecret);
      return isPrivate ? REDACTED : readable(input);
    },
  };
}
