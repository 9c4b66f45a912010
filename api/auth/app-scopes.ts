/** Scopes that users give an app of MCP, in the words in which they are asked. The names are those of the toolsets (`api/tools/lists.ts`). */
export const appScopes = {
  runs: 'Run workflows, and see, repeat and stop runs',
  build: 'See, make, change, publish and delete workflows',
  data: 'Read and change data: datasources, queries, tables and their rows',
  pages: 'See, make, change and delete app pages, widgets and dashboards',
  triggers: 'See, make, change and delete listeners and cron jobs, which start workflows by themselves',
  move: 'Export and import assets, and arrange folders',
  admin: 'Administer the tenant: members, roles, API keys, variables, settings and the audit trail',
} as const;

export type AppScope = keyof typeof appScopes;

export const scopes: readonly string[] = Object.keys(appScopes);

/** Scopes with their words; names that are none are left out. */
export function wordsOf(names: readonly string[]): { scope: string; words: string }[] {
  return Object.entries(appScopes).flatMap(([scope, words]) => (names.includes(scope) ? [{ scope, words }] : []));
}
