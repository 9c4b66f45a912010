import { LockMode } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import { requireQuota } from '#shared/access/quotas.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { invalid, invalidField, within } from '#shared/core/schema/issues.ts';
import { requireValue } from '#shared/core/schema/parse.ts';
import { onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { DataQuery } from '#shared/entities/tables/data-query.ts';
import { Datasource } from '#shared/entities/tables/datasource.ts';
import type { ListenerStatus } from '#shared/entities/tables/listener.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { codeIssues, findActionType, namedIn, templateIssues } from '#shared/triggers/listeners/actions.ts';
import { findEndpointConflict } from '#shared/triggers/listeners/endpoint-conflicts.ts';
import { shapeOf } from '#shared/triggers/listeners/endpoint-path.ts';
import { findListenerType, listenerTypes } from '#shared/triggers/listeners/types/index.ts';
import { codeFault } from '#shared/workflow/check-syntax.ts';
import { asStoredConfig } from '../../assets/config-size.ts';
import { findUnknownFields, type UnknownFields } from '../../http/request/unknown-fields.ts';
import type { Access } from '../../http/route/input.ts';

/** The permission to listen to a datasource. */
export function datasourceAccess(datasourceID: string): Access {
  return { permission: 'datasource.read', object: `datasource:${datasourceID}` };
}

interface NewAction {
  actionType: string;
  actionConfig: JsonObject;
}

/** The permissions to use what actions name. Whether the listener's creator has them is checked again for each event. */
export function targetAccess(actions: readonly NewAction[]): Access[] {
  return actions.flatMap(({ actionType, actionConfig }) => {
    const definition = findActionType(actionType);
    const named = definition && namedIn(definition, actionConfig);
    return named ? [{ permission: named.permission, object: `${named.resource}:${named.id}` }] : [];
  });
}

/** Finds the datasource of a listener, whose type is that of the listener. Locked until the transaction, if there is one, ends. */
export async function findListened(em: EntityManager, id: string, type: string | undefined): Promise<Datasource> {
  const lock = em.isInTransaction() ? { lockMode: LockMode.PESSIMISTIC_READ as const } : {};
  const datasource = await em.findOne(Datasource, { id }, lock);
  if (!datasource) throw invalidField('datasourceID', 'there is no such datasource');
  const { datasourceType } = datasource;
  if (type !== undefined && type !== datasourceType)
    throw invalidField('listenerType', `the datasource is of type ${datasourceType}`);
  if (!findListenerType(datasourceType))
    throw invalidField(
      'datasourceID',
      `a datasource of type ${datasourceType} cannot be listened to; those of the types ${listenerTypes.join(', ')} can`,
    );
  return datasource;
}

/** Requires quota for one more connection, if the change of status makes a listener open one. */
export async function requireConnection(
  em: EntityManager,
  { tenantID, type, before, after }: { tenantID: string; type: string; before: ListenerStatus; after: ListenerStatus },
): Promise<void> {
  if (before === 'inactive' && after !== 'inactive' && findListenerType(type)?.hasEndpoint === false)
    await requireQuota(onEntities(em), { quota: 'listenerConnections', ownerID: tenantID });
}

/** The config as its type parses it; fields that the type does not know are reported. */
export function readConfig(type: string, given: JsonObject): { config: JsonObject; unknown: UnknownFields } {
  const schema: z.ZodType | undefined = findListenerType(type)?.config;
  if (!schema) throw invalidField('listenerType', `expected one of ${listenerTypes.join(', ')}`);
  const config = asStoredConfig(requireValue(schema, given, ['listenerConfig']), ['listenerConfig']);
  const issues = within(['listenerConfig'], templateIssues({}, { orderBy: config.orderBy ?? null }));
  if (issues.length > 0) throw invalid(issues);
  return { config, unknown: findUnknownFields([schema], given, ['listenerConfig']) };
}

/** The action's config as its kind parses it. Rejects templates that cannot be filled, code that does not parse, and what the tenant does not have. */
export async function readAction(
  em: EntityManager,
  { actionType, actionConfig }: NewAction,
  at: readonly (string | number)[] = [],
): Promise<{ config: JsonObject; unknown: UnknownFields }> {
  const definition = findActionType(actionType);
  if (!definition) throw invalidField('actionType', 'there is no such kind of action');
  const path = [...at, 'actionConfig'];
  const config = asStoredConfig(requireValue(definition.config, actionConfig, path), path);
  const issues = within(path, [...templateIssues(definition, config), ...codeIssues(definition, config)]);
  if (issues.length > 0) throw invalid(issues);
  const named = namedIn(definition, config);
  if (named && !(await exists[named.resource](em, named.id))) {
    const word = named.resource === 'workflow' ? 'workflow' : 'data query';
    throw invalid([{ path: [...path, named.field], message: `there is no such ${word}` }]);
  }
  return { config, unknown: findUnknownFields([definition.config], actionConfig, path) };
}

/** Rejects the code of a listener's own transform if it does not parse. */
export function checkTransform(script: string | null | undefined): void {
  const fault = script ? codeFault({ text: script, form: 'body' }, 'event') : undefined;
  if (fault !== undefined) throw invalidField('transformScript', fault);
}

const exists = {
  workflow: async (em: EntityManager, id: string) => (await em.count(Workflow, { id })) > 0,
  dataquery: async (em: EntityManager, id: string) => (await em.count(DataQuery, { id })) > 0,
};

/** Rejects a path that matches the same URLs as that of another listener with the same method. */
export async function checkEndpoint(
  em: EntityManager,
  { path, ...listener }: { tenantID: string; path: string | null; datasourceID: string; listenerID: string },
): Promise<string | null> {
  if (path === null) return null;
  const other = await findEndpointConflict(onEntities(em), { ...listener, path });
  if (other === undefined) return shapeOf(path);
  const message = `another listener of this tenant has ${other}, which matches the same URLs and methods`;
  throw invalid([{ path: ['endpointPath'], message }], { code: 'CONFLICT' });
}
