import { cooperative } from '#shared/concurrency/cooperative.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { TenantVariable } from '#shared/entities/tables/tenant-variable.ts';
import { type Reading, readAssets, type TenantAsset } from '../assets/read-assets.ts';
import { variablesNamedIn } from '../assets/variable-uses.ts';
import type { GivenItem } from './read-items.ts';

type Planned = Pick<GivenItem, 'type' | 'title' | 'payload'> & { action: string; warnings: string[] };

/** The variables of the tenant that have the names of items, by name: a tenant has no two of one name. */
export async function sameVariables(reading: Reading, items: readonly GivenItem[]): Promise<Map<string, TenantAsset>> {
  const names = items.filter(({ type }) => type === 'variable').map(({ title }) => title);
  const ids = (await idsOf(reading.em, names)).values();
  const assets = await readAssets(reading, 'variable', [...ids].sort());
  return new Map(assets.map((asset) => [asset.title, asset]));
}

/**
 * Whether an item is a secret variable without its secret. Unlike a datasource, which has other contents too, it cannot
 * be saved so.
 */
export function lacksItsSecret({ type, payload, secrets }: GivenItem): boolean {
  return type === 'variable' && payload.isSecret === true && secrets.length === 0;
}

/** Warns of variables that workflows name and neither the bundle brings nor the tenant has. */
export async function warnOfVariables(em: EntityManager, items: readonly Planned[]): Promise<void> {
  const brought = new Set(items.filter(({ type, action }) => type === 'variable' && action !== 'skip').map(nameOf));
  const uses: { item: Planned; name: string }[] = [];
  for await (const item of cooperative(items))
    if (item.type === 'workflow')
      for (const name of variablesNamedIn(item.payload)) if (!brought.has(name)) uses.push({ item, name });
  const here = await idsOf(
    em,
    uses.map(({ name }) => name),
  );
  for (const { item, name } of uses)
    if (!here.has(name)) item.warnings.push(`The variable ${name} that the workflow "${item.title}" names is not here`);
}

function nameOf({ title }: Planned): string {
  return title;
}

async function idsOf(em: EntityManager, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (names.length === 0) return new Map();
  const which = { name: { $in: [...new Set(names)] } };
  const rows = await em.find(TenantVariable, which, { fields: ['name'], disableIdentityMap: true });
  return new Map(rows.map(({ id, name }) => [name, id]));
}
