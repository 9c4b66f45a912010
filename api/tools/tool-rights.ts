import type { Identified } from '../auth/identify.ts';

/** Whether a caller may name tools that others will call for them. */
export interface ToolRights {
  /** Of these names, those of tools that the caller may not call. Names of no tool are left out. */
  refused(tenantID: string, identity: Identified, names: readonly string[]): Promise<string[]>;
}

interface Described {
  tools: ReadonlyMap<string, unknown>;
  allowed(tenantID: string, identity: Identified): Promise<readonly { name: string }[]>;
}

/** The tools come from the routes, whose handlers ask for the rights: so they are given with `use`, before the first request. */
export function createToolRights(): ToolRights & { use(open: () => Promise<Described>): void } {
  let open: (() => Promise<Described>) | undefined;
  return {
    use(given) {
      open = given;
    },
    async refused(tenantID, identity, names) {
      if (names.length === 0) return [];
      if (!open) throw new Error('Tools are asked for before the routes are known');
      const described = await open();
      const allowed = new Set((await described.allowed(tenantID, identity)).map(({ name }) => name));
      return names.filter((name) => described.tools.has(name) && !allowed.has(name));
    },
  };
}
