interface OfTenant {
  id: string;
  tenantID: string;
}

/** Orders items: one of each tenant, then the next of each, beginning with a random tenant. */
export function interleaveTenants(found: readonly OfTenant[], random: () => number = Math.random): string[] {
  const queues = [...Map.groupBy(found, ({ tenantID }) => tenantID).values()];
  const first = Math.floor(random() * queues.length);
  const rotated = [...queues.slice(first), ...queues.slice(0, first)];
  const longest = Math.max(0, ...queues.map(({ length }) => length));
  return Array.from({ length: longest }, (_, nth) => rotated.flatMap((queue) => queue[nth]?.id ?? [])).flat();
}
