interface OfTenant {
  id: string;
  tenantID: string;
}

/** One of each tenant, then the next of each, in the given order; beginning with any tenant. */
export function interleaveTenants(found: readonly OfTenant[], random: () => number = Math.random): string[] {
  const lines = [...Map.groupBy(found, ({ tenantID }) => tenantID).values()];
  const first = Math.floor(random() * lines.length);
  const turned = [...lines.slice(first), ...lines.slice(0, first)];
  const longest = Math.max(0, ...lines.map(({ length }) => length));
  return Array.from({ length: longest }, (_, nth) => turned.flatMap((line) => line[nth]?.id ?? [])).flat();
}
