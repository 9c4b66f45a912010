/** Exits as a config names them, and those of edges. Without imports, since the pages of the console run it as well as the API. */

interface Named {
  readonly id: string;
}

/** The exits of kinds whose config names them, as their definitions have them. */
export const exitsByConfig = {
  condition: ({ branches, defaultBranch = 'default' }: { branches: readonly Named[]; defaultBranch?: string }) => [
    ...idsOf(branches),
    defaultBranch,
    'error',
  ],
  switch: ({ cases }: { cases: readonly Named[] }) => [...idsOf(cases), 'default', 'error'],
  fanout: ({ branches }: { branches: readonly Named[] }) => ['output', ...idsOf(branches), 'error'],
  dataCollection: ({ timeoutHandle }: { timeoutHandle?: string | undefined }) => [
    'output',
    'error',
    ...(timeoutHandle ? [timeoutHandle] : []),
  ],
} as const;

/** The exits that edges may call `else`. Edges of these kinds have to name their exit. */
export const elseExitByConfig = {
  condition: ({ defaultBranch = 'default' }: { defaultBranch?: string }) => defaultBranch,
  switch: () => 'default',
} as const;

function idsOf(list: readonly Named[]): string[] {
  return list.map(({ id }) => id);
}

export interface NamedExits {
  readonly exits: ReadonlySet<string>;
  /** The exit of edges without a handle; undefined if they have to name one. */
  readonly usualExit: string | undefined;
  readonly elseExit: string | undefined;
  readonly exitAliases: Readonly<Record<string, string>> | undefined;
}

/**
 * The exit of an edge; undefined if the node has no exit of that name. Editors leave the handle out or call it `output`
 * for the usual exit, and call a condition's default branch `else`.
 */
export function exitOfHandle(
  { exits, usualExit, elseExit, exitAliases = {} }: NamedExits,
  handle: string | null | undefined,
): string | undefined {
  const wanted = handle || 'output';
  if (exits.has(wanted)) return wanted;
  if (wanted === 'output' && usualExit !== undefined) return usualExit;
  if (Object.hasOwn(exitAliases, wanted)) return exitAliases[wanted];
  return wanted === 'else' ? elseExit : undefined;
}
