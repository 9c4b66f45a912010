import { REDACTED, readable } from '#shared/access/audit/redact.ts';
import type { Json } from '#shared/core/json.ts';
import type { Identified } from './identify.ts';

/** Questions of resources about tools. */
export interface ToolRights {
  /** The names among these of tools that the caller may not call. Names of no tool are left out. */
  refused(tenantID: string, identity: Identified, names: readonly string[]): Promise<string[]>;
  /** The input of a call, which has no secrets any more, as the audit trail keeps it: that of a private route is not kept. */
  inTrail(name: string, input: Json): Promise<Json>;
}

interface Described {
  tools: ReadonlyMap<string, object | { route: { isPrivate?: true; isSecret?: true } }>;
  allowed(tenantID: string, identity: Identified): Promise<readonly { name: string }[]>;
}

/** The tools come from the routes, whose handlers ask for the rights: so they are given with `use`, before the first request. */
export function createToolRights(): ToolRights & { use(open: () => Promise<Described>): void } {
  let open: (() => Promise<Described>) | undefined;
  function described(): Promise<Described> {
    if (!open) throw new Error('Tools are asked for before the routes are known');
    return open();
  }
  return {
    use(given) {
      open = given;
    },
    async refused(tenantID, identity, names) {
      if (names.length === 0) return [];
      const { tools, allowed } = await described();
      const own = new Set((await allowed(tenantID, identity)).map(({ name }) => name));
      return names.filter((name) => tools.has(name) && !own.has(name));
    },
    async inTrail(name, input) {
      const tool = (await described()).tools.get(name);
      const isPrivate = tool && 'route' in tool && (tool.route.isPrivate || tool.route.isSecret);
      return isPrivate ? REDACTED : readable(input);
    },
  };
}
