import { cooperative } from '#shared/concurrency/cooperative.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { type Collected, comesBefore, inOrder } from '../assets/collect.ts';
import { sorted } from '../assets/hash.ts';
import { itemKeyOf, keysOfAssets } from '../assets/keys.ts';
import { type Reference, withIDs } from '../assets/references.ts';
import { withMissing } from '../assets/secrets.ts';
import { tablesIn } from '../assets/tables.ts';
import type { BundleItem } from '../schemas.ts';

/** Items as they are written: references are keys, and the same assets have the same text. */
export async function writeItems(
  em: EntityManager,
  tenantID: string,
  collected: ReadonlyMap<string, Collected>,
  { withFolders }: { withFolders: boolean },
): Promise<BundleItem[]> {
  const named = [...collected.values()].flatMap(({ id, references }) => [id, ...references.map((one) => one.id)]);
  const keys = await keysOfAssets(onEntities(em), tenantID, [...new Set(named)]);
  const keyOf = (id: string) => keys.get(id)?.key ?? id;
  const ordered = new Map(
    [...collected].map(([id, { type, references }]) => {
      const needs = references.filter((one) => comesBefore(one, type)).map((one) => one.id);
      return [id, { type, key: keyOf(id), needs }];
    }),
  );
  const items: BundleItem[] = [];
  for await (const id of cooperative(inOrder(ordered))) {
    const asset = collected.get(id);
    if (!asset) continue;
    const { type, references } = asset;
    const whole = withMissing(asset.payload, keys.get(id)?.missingSecrets);
    const payload = await sorted(withIDs(whole, references, (one) => keyOf(one.id)));
    const shown = withFolders ? payload : withoutFolder(payload);
    items.push({ type, id: keyOf(id), payload: shown, dependencies: dependenciesOf(asset) });
  }
  return items;

  function dependenciesOf({ id: own, type, payload, references }: Collected): BundleItem['dependencies'] {
    const shown = references.filter(({ id, isGuess }) => id !== own && (!isGuess || collected.has(id)));
    const others = new Map(shown.map((one) => [itemKeyOf(one), one]));
    const tables = tablesIn(type, payload).map((id) => ({ type: 'table', id, bundled: false }));
    return [...[...others.values()].map(describe), ...tables].sort((one, other) =>
      itemKeyOf(one) < itemKeyOf(other) ? -1 : 1,
    );
  }

  function describe({ type, id }: Reference) {
    const bundled = collected.get(id);
    return { type, id: keyOf(id), ...(bundled && { name: bundled.title }), bundled: bundled !== undefined };
  }
}

/** A payload that names no folder: an import then leaves the asset in the folder that it has in the other tenant. */
function withoutFolder({ folderID: _, ...payload }: JsonObject): JsonObject {
  return payload;
}
