import type { z } from 'zod';
import type { Datasource } from '#shared/entities/tables/datasource.ts';
import type { Listener as ListenerEntity } from '#shared/entities/tables/listener.ts';
import type { ListenerAction as ActionEntity } from '#shared/entities/tables/listener-action.ts';
import type { ListenerBreaker } from '#shared/entities/tables/listener-breaker.ts';
import { findListenerType } from '#shared/triggers/listeners/types/index.ts';
import type { Action, Breaker, Listener } from './schemas.ts';

/** Rows that are shown with a listener. */
export interface Around {
  actions: readonly ActionEntity[];
  datasource: Pick<Datasource, 'id' | 'datasourceTitle' | 'datasourceType'> | undefined;
  /** The circuit breaker of the listener, if it is open. */
  breaker?: ListenerBreaker | undefined;
}

export function presentListener(
  listener: ListenerEntity,
  { actions, datasource, breaker }: Around,
): z.input<typeof Listener> {
  const { id, tenantID, datasourceID, listenerTitle, listenerType, listenerConfig, status, creatorID } = listener;
  return {
    id,
    listenerID: id,
    tenantID,
    datasourceID,
    listenerTitle,
    listenerDescription: listener.listenerDescription ?? null,
    listenerType,
    listenerConfig,
    status,
    lastError: listener.lastError ?? null,
    breaker: breaker ? presentBreaker(breaker) : null,
    lastEventAt: listener.lastEventAt?.toISOString() ?? null,
    eventCount: listener.eventCount,
    endpointPath: listener.endpointPath ?? null,
    webhookPaths: pathsOf(listener),
    transformScript: scriptOf(actions),
    actions: actions.map(presentAction),
    datasource: {
      datasourceID,
      datasourceTitle: datasource?.datasourceTitle ?? '',
      datasourceType: datasource?.datasourceType ?? listenerType,
    },
    folderID: listener.folderID ?? null,
    creatorID,
    createdByApiKeyID: listener.createdByApiKeyID ?? null,
    createdAt: listener.createdAt.toISOString(),
    updatedAt: listener.updatedAt.toISOString(),
  };
}

function presentBreaker({ failures, openedAt, probeAt, probeID, error }: ListenerBreaker): z.input<typeof Breaker> {
  return {
    state: probeID ? 'halfOpen' : 'open',
    openedAt: openedAt?.toISOString() ?? null,
    nextProbeAt: probeID ? null : (probeAt?.toISOString() ?? null),
    failures,
    error: error ? { code: String(error.code), message: String(error.message) } : null,
  };
}

export function presentAction(action: ActionEntity): z.input<typeof Action> {
  const { id, listenerID, actionType, actionConfig, isEnabled, orderIndex, createdAt, updatedAt } = action;
  return {
    id,
    actionID: id,
    listenerID,
    actionType,
    actionConfig,
    isEnabled,
    orderIndex,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}

function pathsOf({ id, tenantID, listenerType, endpointPath }: ListenerEntity): string[] {
  if (!findListenerType(listenerType)?.hasEndpoint) return [];
  const named = endpointPath ? [`/webhooks/v1/inbound/${tenantID}/${endpointPath}`] : [];
  return [...named, `/webhooks/v1/inbound/${id}`];
}

function scriptOf(actions: readonly ActionEntity[]): string | null {
  const script = actions.find(({ actionType }) => actionType === 'transform')?.actionConfig.script;
  return typeof script === 'string' ? script : null;
}
