import type { EntityClass } from '@mikro-orm/postgresql';
import { DataQuery } from '#shared/db/entities/data-query.ts';
import { Workflow } from '#shared/db/entities/workflow.ts';
import type { EntityManager } from '#shared/db/orm.ts';
import type { JsonObject } from '#shared/json.ts';
import { parseValue } from '#shared/parse-value.ts';
import { WidgetBindings } from '#shared/widgets/bindings.ts';
import { type WidgetAsset, widgetAssets } from '#shared/widgets/named-assets.ts';
import { type Issue, invalid, within } from '#shared/workflow/issues.ts';
import type { Access } from '../../http/route.ts';
import { findUnknownFields, type UnknownFields } from '../../http/unknown-fields.ts';

/** The permissions that saving a config needs beside the route's own: who may execute the widget gets the data of its queries. */
export function bindingAccess(config: JsonObject | undefined): Access[] {
  const assets = config ? widgetAssets(config) : [];
  const objects = new Map(assets.map((asset) => [`${asset.type}:${asset.id}`, asset.type]));
  return [...objects].map(([object, type]) => ({ permission: `${type}.execute` as const, object }));
}

/** Rejects bindings that could not be read, and assets that the tenant does not have. Answers with fields of bindings that nothing reads. */
export async function checkConfig(em: EntityManager, config: JsonObject): Promise<UnknownFields> {
  const { dataQueries } = config;
  const path = ['widgetConfig', 'dataQueries'];
  if (dataQueries !== undefined) {
    const parsed = parseValue(WidgetBindings, dataQueries);
    if (!parsed.success) throw invalid(within(path, parsed.issues), { count: parsed.count });
  }
  const missing = await findMissing(em, widgetAssets(config));
  if (missing.length > 0) throw invalid(within(['widgetConfig'], missing));
  return dataQueries === undefined ? { fields: [], count: 0 } : findUnknownFields([WidgetBindings], dataQueries, path);
}

const entities: Record<WidgetAsset['type'], EntityClass<{ id: string }>> = { dataquery: DataQuery, workflow: Workflow };
const words = { dataquery: 'data query', workflow: 'workflow' } as const;

async function findMissing(em: EntityManager, assets: readonly WidgetAsset[]): Promise<Issue[]> {
  const found = new Set<string>();
  for (const [type, ofType] of Map.groupBy(assets, (asset) => asset.type)) {
    const where = { id: { $in: [...new Set(ofType.map(({ id }) => id))] } };
    const rows = await em.find(entities[type], where, { fields: ['id'] });
    for (const { id } of rows) found.add(id);
  }
  return assets.flatMap(({ type, id, path }) =>
    found.has(id) ? [] : [{ path, message: `there is no such ${words[type]}` }],
  );
}
