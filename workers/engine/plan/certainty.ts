import type { Dependency } from '#shared/messaging/queues/workflow-plans.ts';

/** Whether something happens in a run: yes, no, or dependent on values that are not known before the run. */
export type Certainty = { is: true } | { is: false } | { is: 'depends'; on: Dependencies };

/** Dependencies by their JSON text, so that each is there once. */
export type Dependencies = ReadonlyMap<string, Dependency>;

/** The most dependencies of one value: more would not help a reader, and the size of a plan would grow with the square of its nodes. */
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

/** Whether both happen. */
export function both(first: Certainty, second: Certainty): Certainty {
  if (first.is === false || second.is === false) return no;
  if (first.is === true) return second;
  return second.is === true ? first : dependsOn(union([first.on, second.on]));
}

/** Whether at least one happens. */
export function any(all: readonly Certainty[]): Certainty {
  if (all.some(({ is }) => is === true)) return yes;
  const open = all.flatMap((each) => (each.is === 'depends' ? [each.on] : []));
  return open.length > 0 ? dependsOn(union(open)) : no;
}

export function shownCertainty(certainty: Certainty) {
  if (certainty.is !== 'depends') return { is: certainty.is ? ('yes' as const) : ('no' as const) };
  return { is: 'depends' as const, dependsOn: [...certainty.on.values()] };
}
