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

interface Expiring {
  /** Other than `expired`: the step fails, and leaves by no exit. */
  onTimeout?: unknown;
  /** 0: for ever. */
  expiryMinutes?: unknown;
}

/** Exits that need an edge, as the definitions of their kinds have them: a node that would leave by one without an edge fails. */
export const neededExits = {
  // Without an edge, a rejection or an expiry would end the run as if it had been approved.
  approval: ['rejected', 'expired'],
  waitForEvent: ['expired'],
  dataCollection: ({ timeoutHandle }: { timeoutHandle?: string | undefined }) => (timeoutHandle ? [timeoutHandle] : []),
} as const;

/** Whether a step of this config may be left by its exit for those that have expired. */
export function mayExpire({ onTimeout = 'expired', expiryMinutes }: Expiring): boolean {
  return onTimeout === 'expired' && expiryMinutes !== 0;
}

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
