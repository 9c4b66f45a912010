import type { Dependency } from '#shared/messaging/queues/workflow-plans.ts';

/** Whether something happens in a run: decided, or by what it is decided. */
export type Certainty = { is: true } | { is: false } | { is: 'depends'; on: Dependencies };

/** The texts that were found, as keys. */
export type Dependencies = ReadonlyMap<string, Dependency>;

/** More say nothing more to a reader, and would make a plan of thousands of nodes grow with their square. */
const MAX_DEPENDENCIES = 20;

export const yes: Certainty = { is: true };
export const no: Certainty = { is: false };

export function dependsOn(on: Dependencies): Certainty {
  return { is: 'depends', on };
}

export function onlyOn(dependency: Dependency): Dependencies {
  return new Map([[JSON.stringify(dependency), dependency]]);
}

export function union(all: readonly Dependencies[]): Dependencies {
  const [first, ...others] = all;
  if (first && others.every((each) => each === first)) return first;
  const found = new Map<string, Dependency>();
  for (const each of all)
    for (const [key, dependency] of each) if (found.size < MAX_DEPENDENCIES) found.set(key, dependency);
  return found;
}

/** Both happen. */
export function both(one: Certainty, other: Certainty): Certainty {
  if (one.is === false || other.is === false) return no;
  if (one.is === true) return other;
  return other.is === true ? one : dependsOn(union([one.on, other.on]));
}

/** At least one happens. */
export function any(all: readonly Certainty[]): Certainty {
  if (all.some(({ is }) => is === true)) return yes;
  const open = all.flatMap((each) => (each.is === 'depends' ? [each.on] : []));
  return open.length > 0 ? dependsOn(union(open)) : no;
}

export function shownCertainty(certainty: Certainty) {
  if (certainty.is !== 'depends') return { is: certainty.is ? ('yes' as const) : ('no' as const) };
  return { is: 'depends' as const, dependsOn: [...certainty.on.values()] };
}
