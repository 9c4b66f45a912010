import { z } from 'zod';
import { Settings } from '#shared/core/json.ts';
import { looseObject } from '#shared/core/record.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { ActionType } from '#shared/triggers/listeners/actions.ts';
import { EndpointPath } from '#shared/triggers/listeners/endpoint-path.ts';
import { listenerTypes } from '#shared/triggers/listeners/types/index.ts';
import type { FieldAliases } from '../../http/fields/field-aliases.ts';
import { explorerPage, pageFields, pageQuery } from '../../http/fields/paging.ts';
import { Message, WorkError } from '../../http/fields/response-parts.ts';
import { Title } from '../../http/fields/text.ts';
import {
  exampleAction,
  exampleActionCreate,
  exampleActionUpdate,
  exampleBreaker,
  exampleConnections,
  exampleListener,
  exampleListenerCreate,
  exampleListenerUpdate,
} from './examples.ts';

export const ListenerID = z.object({ listenerID: idOf('listener') });
export const ActionID = z.object({ listenerID: idOf('listener'), actionID: idOf('listenerAction') });

const MAX_ACTIONS = 50;

const ActionConfig = Settings.describe('The fields depend on `actionType`: see `getListenerSchemas`');
const actionFields = {
  isEnabled: z.boolean().optional(),
  orderIndex: z.int().min(0).max(1_000_000).optional().describe('Actions go in this order; default: after the others'),
};

export const ActionCreate = z
  .object({ actionType: ActionType, actionConfig: ActionConfig.default({}), ...actionFields })
  .meta({ id: 'ListenerActionCreate', examples: [exampleActionCreate] });
export type ActionCreate = z.output<typeof ActionCreate>;

export const ActionUpdate = z
  .object({ actionType: ActionType.optional(), actionConfig: ActionConfig.optional(), ...actionFields })
  .meta({ id: 'ListenerActionUpdate', examples: [exampleActionUpdate] });

/** An empty text means none, as null does. */
const Endpoint = z.union([z.literal('').transform(() => null), EndpointPath]).nullish();

const settings = {
  listenerDescription: z.string().max(10_000).nullish(),
  listenerConfig: Settings.optional().describe('The fields depend on `listenerType`: see `getListenerSchemas`'),
  status: z.enum(['inactive', 'active']).optional(),
  endpointPath: Endpoint.describe(
    'What follows the tenant in the URL of a webhook, with parameters such as `:orderID`',
  ),
  transformScript: z.string().max(50_000).nullish().describe('The code of the first `transform` action'),
  folderID: idOf('folder').nullish(),
};

export const ListenerCreate = z
  .object({
    listenerTitle: Title,
    datasourceID: idOf('datasource'),
    listenerType: z.enum(listenerTypes).optional().describe('Default: the type of the datasource'),
    ...settings,
    actions: z.array(ActionCreate).max(MAX_ACTIONS).default([]),
  })
  .transform(withEndpoint)
  .meta({ id: 'ListenerCreate', examples: [exampleListenerCreate] });

/** Absent fields stay as they are, null clears a field; the config is replaced as a whole. */
export const ListenerUpdate = z
  .object({ listenerTitle: Title.optional(), datasourceID: idOf('datasource').optional(), ...settings })
  .transform(withEndpoint)
  .meta({ id: 'ListenerUpdate', examples: [exampleListenerUpdate] });

export const listenerAliases: FieldAliases = { endpointPath: ['endpointPath', 'listenerConfig.pathSuffix'] };

/** The path may also be named in the config, as `pathSuffix`. */
function withEndpoint<B extends z.output<z.ZodObject<typeof settings>>>(body: B, check: z.RefinementCtx): B {
  const { pathSuffix, ...listenerConfig } = body.listenerConfig ?? {};
  if (pathSuffix === undefined || body.endpointPath !== undefined)
    return body.listenerConfig ? { ...body, listenerConfig } : body;
  const path = Endpoint.safeParse(pathSuffix);
  for (const { message } of path.error?.issues ?? [])
    check.addIssue({ code: 'custom', path: ['listenerConfig', 'pathSuffix'], message });
  return { ...body, listenerConfig, endpointPath: path.data };
}

export const ListenerList = z.object({
  ...pageQuery(explorerPage),
  search: z.string().max(255).optional(),
  folderID: idOf('folder').optional(),
  datasourceID: idOf('datasource').optional(),
  listenerType: z.string().max(32).optional(),
  status: z.enum(['inactive', 'active', 'error']).optional(),
});

export const SchemasQuery = z.object({ datasourceType: z.string().max(64).optional() });

const Stored = looseObject({});

export const Action = z
  .object({
    id: z.uuid(),
    actionID: z.uuid(),
    listenerID: z.uuid(),
    actionType: z.string(),
    actionConfig: Stored,
    isEnabled: z.boolean(),
    orderIndex: z.int(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'ListenerAction', examples: [exampleAction] });

export const Breaker = z
  .object({
    state: z.enum(['open', 'halfOpen']).describe('`halfOpen`: one event is tried'),
    openedAt: z.iso.datetime().nullable(),
    nextProbeAt: z.iso.datetime().nullable().describe('When one event is tried'),
    failures: z.int().describe('Attempts in a row that have failed'),
    error: WorkError.nullable().describe('Of the last of them'),
  })
  .meta({ id: 'ListenerBreaker', examples: [exampleBreaker] });

export const Listener = z
  .object({
    id: z.uuid(),
    listenerID: z.uuid(),
    tenantID: z.uuid(),
    datasourceID: z.uuid(),
    listenerTitle: z.string(),
    listenerDescription: z.string().nullable(),
    listenerType: z.string(),
    listenerConfig: Stored,
    status: z.enum(['inactive', 'active', 'error']),
    lastError: z.string().nullable(),
    breaker: Breaker.nullable().describe(
      'Set while attempts keep failing: events are held until one that is tried succeeds. Null: closed',
    ),
    lastEventAt: z.iso.datetime().nullable(),
    eventCount: z.int().describe('Deliveries that were stored, duplicates included; about a second old'),
    endpointPath: z.string().nullable(),
    webhookPaths: z.array(z.string()).describe('The paths at this service that senders call'),
    transformScript: z.string().nullable(),
    actions: z.array(Action),
    datasource: z
      .object({ datasourceID: z.uuid(), datasourceTitle: z.string(), datasourceType: z.string() })
      .meta({ id: 'ListenedDatasource' }),
    folderID: z.uuid().nullable(),
    creatorID: z.uuid(),
    createdByApiKeyID: z.uuid().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Listener', examples: [exampleListener] });

export const Listeners = z
  .object({ listeners: z.array(Listener), ...pageFields, message: Message })
  .meta({ id: 'ListenerPage' });

/** Answer to a change: the listener, and a message to show. */
export const Changed = z.object({ listener: Listener, message: Message });
export const ChangedAction = z.object({ action: Action, message: Message });

export const Connection = z
  .object({
    state: z.enum(['connecting', 'running', 'reconnecting', 'error', 'stopped']),
    type: z.string(),
    retryCount: z.int(),
    title: z.string(),
    refusals: z.int().describe('Recorded deliveries of the last day that were refused'),
  })
  .meta({ id: 'ListenerConnection' });

export const Connections = z.object({
  status: z.record(z.string(), Connection).meta({ examples: [exampleConnections] }),
  message: Message,
});

const form = { schema: looseObject({}), uischema: looseObject({}), data: looseObject({}) };

export const ListenerSchemas = z.object({
  schemas: z
    .record(
      z.string(),
      z.object({ datasourceType: z.string(), label: z.string(), ...form }).meta({ id: 'ListenerForm' }),
    )
    .meta({
      examples: [{ webhook: { datasourceType: 'webhook', label: 'Webhook', schema: {}, uischema: {}, data: {} } }],
    }),
  actions: z
    .record(
      z.string(),
      z.object({ actionType: z.string(), label: z.string(), ...form }).meta({ id: 'ListenerActionForm' }),
    )
    .meta({
      examples: [{ transform: { actionType: 'transform', label: 'Transform', schema: {}, uischema: {}, data: {} } }],
    }),
  message: Message,
});
