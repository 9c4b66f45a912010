import { queryOptions } from '@tanstack/react-query';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

const T = '/api/v1/tenants/{tenantID}';

export type Bundle = Schemas['Bundle'];
export type BundledType = Schemas['BundledType'];
export type Plan = Schemas['BundlePlan'];
type Imported = Schemas['BundleImported'];

interface Import {
  bundle: Bundle;
  onConflict: 'skip' | 'overwrite';
  secrets: Schemas['BundleSecret'][];
}

/** All that the caller may read of these types, and what it needs. */
export async function exportBundle(
  tenantID: string,
  types: readonly BundledType[],
): Promise<Schemas['ExportBundleAnswer']> {
  const given = { types: [...types] } as Schemas['BundleExport'];
  return body(rest.POST(`${T}/export`, { params: { path: { tenantID } }, body: given }));
}

/** A page with all that it needs. */
export async function exportPage(path: {
  tenantID: string;
  appPageID: string;
}): Promise<Schemas['ExportBundleAnswer']> {
  return body(rest.GET(`${T}/app-pages/{appPageID}/export`, { params: { path } }));
}

/** The plan of an import, item by item; nothing is changed. */
export async function planImport(tenantID: string, wanted: Import): Promise<Plan> {
  const given = wanted as Schemas['BundleImportCreate'];
  return body(rest.POST(`${T}/import/plan`, { params: { path: { tenantID } }, body: given }));
}

/** Imports as it was planned; refused if anything of the plan has changed since. */
export async function applyImport(tenantID: string, wanted: Import & { token: string }): Promise<Imported> {
  const given = wanted as Schemas['BundleApply'];
  return body(rest.POST(`${T}/import/apply`, { params: { path: { tenantID } }, body: given }));
}

/** Imports a bundle whole or not at all. With the same keys again, it creates nothing more. */
export async function importBundle(tenantID: string, bundle: Bundle): Promise<Imported> {
  const given = { bundle, onConflict: 'overwrite' } as Schemas['BundleImportCreate'];
  return body(rest.POST(`${T}/import/execute`, { params: { path: { tenantID } }, body: given }));
}

/** The last ones that have changed something, newest first. */
export function importsRead(tenantID: string) {
  return queryOptions({
    queryKey: ['imports', tenantID],
    queryFn: async () => (await body(rest.GET(`${T}/import`, { params: { path: { tenantID } } }))).imports,
  });
}

export async function rollBackImport(path: { tenantID: string; importID: string }): Promise<void> {
  await body(rest.POST(`${T}/import/{importID}/rollback`, { params: { path } }));
}
