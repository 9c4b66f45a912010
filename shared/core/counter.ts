import type { Sample } from './metrics.ts';

/** Counts by the values of a few labels, for metrics. Every label has a fixed set of values, or the counts would grow without a bound. */
export class Counter<Label extends string> {
  readonly #counts = new Map<string, { labels: Readonly<Record<string, string>>; value: number }>();

  add(labels: Readonly<Record<Label, string>>, by = 1): void {
    const key = Object.values(labels).join('\n');
    const count = this.#counts.get(key);
    if (count) count.value += by;
    else this.#counts.set(key, { labels, value: by });
  }

  get samples(): Sample[] {
    return [...this.#counts.values()].map((count) => ({ ...count }));
  }
}

/** The label `tenant`: the id of a tenant that the settings name, `other` for all other tenants. Absent if the settings name none. */
export interface TenantLabel {
  readonly names: readonly string[];
  of(tenantID: string | undefined): Readonly<Record<string, string>>;
}

export function createTenantLabel(tenantIDs: readonly string[] = []): TenantLabel {
  const named = new Set(tenantIDs);
  if (named.size === 0) return { names: [], of: () => ({}) };
  return {
    names: ['tenant'],
    of: (tenantID) => ({ tenant: tenantID !== undefined && named.has(tenantID) ? tenantID : 'other' }),
  };
}
