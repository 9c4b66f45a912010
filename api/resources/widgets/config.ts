import type { EntityClass } from '@mikro-orm/postgresql';
import { WidgetBindings } from '#shared/apps/widgets/bindings.ts';
import { type WidgetAsset, widgetAssets } from '#shared/apps/widgets/named-assets.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { type Issue, invalid, type Path, within } from '#shared/core/schema/issues.ts';
import { parseValue } from '#shared/core/schema/parse.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { DataQuery } from '#shared/entities/tables/data-query.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { findUnknownFields, type UnknownFields } from '../../http/request/unknown-fields.ts';
import type { Access } from '../../http/route/input.ts';

/** The permissions that saving a config needs beside the route's own: who may execute the widget gets the data of its queries. */
export function bindingAccess(config: JsonObject | undefined): Access[] {
  const assets = config ? widgetAssets(config) : [];
  const objects = new Map(assets.map((asset) => [`${asset.type}:${asset.id}`, asset.type]));
  return [...objects].map(([object, type]) => ({ permission: `${type}.execute` as const, object }));
}

/** Rejects bindings that could not be read, and assets that the tenant does not have. Answers with fields of bindings that nothing reads. */
export async function checkConfig(em: EntityManager, config: JsonObject): Promise<UnknownFields> {
  const at = ['widgetConfig'];
  checkBindings(config, at);
  const missing = await findMissing(em, widgetAssets(config));
  if (missing.length > 0) throw invalid(within(at, missing));
  const { dataQueries } = config;
  if (dataQueries === undefined) return { fields: [], count: 0 };
  return findUnknownFields([WidgetBindings], dataQueries, [...at, 'dataQueries']);
}

/** Rejects bindings that could not be read; `at` is the path of the config. */
export function checkBindings({ dataQueries }: JsonObject, at: Path): void {
  if (dataQueries === undefined) return;
  const parsed = parseValue(WidgetBindings, dataQueries);
  if (!parsed.success) throw invalid(within([...at, 'dataQueries'], parsed.issues), { count: parsed.count });
}

const entities: Record<WidgetAsset['type'], EntityClass<{ id: string }>> = { dataquery: DataQuery, workflow: Workflow };
const words = { dataquery: 'data query', workflow: 'workflow' } as const;

/** The assets that a config names and the tenant does not have; paths are inside of the config. */
export async function findMissing(em: EntityManager, assets: readonly WidgetAsset[]): Promise<Issue[]> {
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
