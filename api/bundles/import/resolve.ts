import type { EntityClass } from '@mikro-orm/postgresql';
import { onEntities } from '#shared/db/query.ts';
import { OAuthConnection } from '#shared/entities/tables/oauth-connection.ts';
import { TenantFile } from '#shared/entities/tables/tenant-file.ts';
import { isBundled } from '../assets/bundle-types.ts';
import { itemKeyOf, keysOfItems } from '../assets/keys.ts';
import { readers } from '../assets/payloads.ts';
import type { GivenItem } from './read-items.ts';
import type { ImportInput } from './run-handler.ts';

/** Ids in the tenant of assets that the bundle names but does not contain, by `itemKeyOf` the reference. */
export type Others = ReadonlyMap<string, string>;

interface OutboundReference {
  items: readonly GivenItem[];
  inBundle: ReadonlyMap<string, string>;
  /** Ids of the tenant that the request names for ids of the bundle. */
  given: Readonly<Record<string, string>>;
}

const AT_ONCE = 1_000;

/** Finds each asset by the id that the request gives for it, by the key from an earlier import, or by its own id. */
export async function findOthers(
  { em, tenantID }: ImportInput,
  { items, inBundle, given }: OutboundReference,
): Promise<Others> {
  const outbound = items.flatMap(({ references }) => references).filter((one) => !inBundle.has(itemKeyOf(one)));
  const bundled = outbound.flatMap(({ type, id }) => (isBundled(type) ? [{ type, id }] : []));
  const keys = await keysOfItems(onEntities(em), tenantID, bundled);
  const others = new Map<string, string>();
  for (const [type, named] of Map.groupBy(outbound, (one) => one.type)) {
    const wanted = new Map(
      named.map((one) => [one.id, given[one.id] ?? keys.get(itemKeyOf(one))?.assetID ?? one.id] as const),
    );
    const where = isBundled(type) ? readers[type].where : {};
    const existing = new Set<string>();
    const ids = [...new Set(wanted.values())];
    for (let from = 0; from < ids.length; from += AT_ONCE) {
      const which = { ...where, id: { $in: ids.slice(from, from + AT_ONCE) } };
      const found = await em.find(entityOf(type), which, { fields: ['id'], disableIdentityMap: true });
      for (const { id } of found) existing.add(id);
    }
    for (const [key, id] of wanted) if (existing.has(id)) others.set(itemKeyOf({ type, id: key }), id);
  }
  return others;
}

function entityOf(type: GivenItem['references'][number]['type']): EntityClass<{ id: string }> {
  if (type === 'oauthConnection') return OAuthConnection;
  return type === 'file' ? TenantFile : readers[type].entity;
}
