import type { BenchEnvironment } from './environment.ts';

/** Seconds until so many runs, accepted at once and without the API, have all ended. Those of other tenants do not count. */
export async function runAll(
  { pool, runs, tenantID }: BenchEnvironment,
  versionID: string,
  count: number,
): Promise<number> {
  const began = performance.now();
  await runs.acceptMany(
    Array.from({ length: count }, () => ({
      tenantID,
      workflowID: null,
      versionID,
      caller: { type: 'system' as const, id: tenantID, origin: 'direct' as const },
      input: {},
      timeoutMs: 3_600_000,
    })),
  );
  for (;;) {
    const { rows } = await pool.query(
      'select 1 from workflow_instance where completed_at is null and tenant_id = $1 limit 1',
      [tenantID],
    );
    if (rows.length === 0) return (performance.now() - began) / 1000;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
