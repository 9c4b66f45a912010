import type { FilterQuery } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Listener as ListenerEntity, type ListenerStatus } from '#shared/entities/tables/listener.ts';
import type { ListenerBreaker } from '#shared/entities/tables/listener-breaker.ts';
import { deleteAsset } from '../../assets/assets.ts';
import { type ApiRoute, tenantRoute } from '../../context/routes.ts';
import { containing, findPage } from '../../http/fields/paging.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { actionRoutes } from './actions.ts';
import { requireConnection } from './check.ts';
import { cloneListener } from './clone.ts';
import { createListener } from './create.ts';
import { deadLetterRoutes } from './dead-letters.ts';
import { describeListeners } from './describe.ts';
import { eventRoutes } from './events.ts';
import { findAround, findBreakers, getListener, requireActionsFit } from './find.ts';
import { presentListener } from './present.ts';
import { countRefusals, listRefusals } from './refusals.ts';
import { Changed, type Connection, Connections, Listener, ListenerID, ListenerList, Listeners } from './schemas.ts';
import { shadowRoutes } from './shadow-replay.ts';
import { putListener, updateListener } from './update.ts';

/** Fixed paths come before `:listenerID`, which would take them for an id. */
export const listenerRoutes = [
  tenantRoute({
    name: 'listListeners',
    method: 'get',
    path: '/listeners',
    summary: 'List listeners',
    description: 'Returns the listeners the caller may read, newest first, with their actions.',
    permission: 'listener.list',
    filter: true,
    query: ListenerList,
    response: Listeners,
    errors: ['413'],

    async handle({ query, em, visible }) {
      const { search, folderID, datasourceID, listenerType, status } = query;
      const where: FilterQuery<ListenerEntity> = {
        ...(await visible('listener.read')),
        ...(search && { listenerTitle: containing(search) }),
        ...(folderID && { folderID }),
        ...(datasourceID && { datasourceID }),
        ...(listenerType && { listenerType }),
        ...(status && { status }),
      };
      const { rows, fields } = await findPage(em, ListenerEntity, { where, query, large: ['listenerConfig'] });
      await requireActionsFit(em, rows);
      const around = await findAround(em, rows);
      return { listeners: rows.map((row) => presentListener(row, around(row))), ...fields, message: 'Listeners found' };
    },
  }),

  createListener,
  describeListeners,

  tenantRoute({
    name: 'getListenerConnections',
    method: 'get',
    path: '/listeners/status/connections',
    summary: 'Get the state of listeners',
    description:
      'Returns, for the listeners of the tenant that the caller may read, whether they receive events, and how many deliveries they have refused.',
    permission: 'listener.read',
    filter: true,
    response: Connections,

    async handle({ em, visible, tenantID }) {
      const fields = ['id', 'status', 'listenerType', 'listenerTitle'] as const;
      const rows = await em.find(ListenerEntity, { ...(await visible('listener.read')) }, { fields });
      const connections = await findConnections(em, tenantID);
      const breakers = await findBreakers(
        em,
        rows.map(({ id }) => id),
      );
      const refusals = await countRefusals(onEntities(em), tenantID);
      const status = rows.map(({ id, status: of, listenerType: type, listenerTitle: title }) => [
        id,
        { ...statusOf(of, connections.get(id), breakers.get(id)), type, title, refusals: refusals.get(id) ?? 0 },
      ]);
      return { status: Object.fromEntries(status), message: 'State of the listeners' };
    },
  }),

  tenantRoute({
    name: 'getListener',
    method: 'get',
    path: '/listeners/:listenerID',
    summary: 'Get a listener',
    description: 'Returns a listener with its actions.',
    permission: 'listener.read',
    object: ({ params }) => `listener:${params.listenerID}`,
    params: ListenerID,
    response: z.object({ listener: Listener, message: Message }),

    async handle({ params, em }) {
      const listener = await getListener(em, params.listenerID);
      const around = await findAround(em, [listener]);
      return { listener: presentListener(listener, around(listener)), message: 'Listener found' };
    },
  }),

  updateListener,
  putListener,

  tenantRoute({
    name: 'deleteListener',
    method: 'delete',
    path: '/listeners/:listenerID',
    summary: 'Delete a listener',
    description:
      'Deletes a listener with its actions. Its address answers 404 from then on; events that are stored already are not processed any more.',
    permission: 'listener.delete',
    object: ({ params }) => `listener:${params.listenerID}`,
    params: ListenerID,
    response: z.object({ message: Message }),

    async handle({ params, em }) {
      await deleteAsset(em, 'listener', await getListener(em, params.listenerID));
      return { message: 'Listener deleted' };
    },
  }),

  cloneListener,
  setStatus({
    name: 'activateListener',
    verb: 'activate',
    status: 'active',
    summary: 'Activate a listener',
    description:
      'The listener receives events from now on. One that has stopped because of its creator processes the events that it has kept.',
  }),
  setStatus({
    name: 'deactivateListener',
    verb: 'deactivate',
    status: 'inactive',
    summary: 'Deactivate a listener',
    description: 'The listener receives nothing more. Events that are stored already are still processed.',
  }),
  ...actionRoutes,
  ...eventRoutes,
  ...deadLetterRoutes,
  listRefusals,
  ...shadowRoutes,
];

interface ConnectionRow {
  id: string;
  state: 'connecting' | 'running' | 'reconnecting' | 'error';
  retryCount: number;
}

/** The states of connections that the owners of listeners have reported. A listener without an owner is `connecting`. */
async function findConnections(em: EntityManager, tenantID: string): Promise<Map<string, ConnectionRow>> {
  const { rows } = await onEntities(em)<ConnectionRow>(
    `select listener_id as id, case when held_by is null then 'connecting' else state end as state, retry_count as "retryCount"
     from listener_lease where tenant_id = $1`,
    [tenantID],
  );
  return new Map(rows.map((row) => [row.id, row]));
}

/**
 * Whether a listener receives events and reaches the targets of its actions. One that needs no connection receives them
 * once it is active.
 */
function statusOf(
  status: ListenerStatus,
  connection: ConnectionRow | undefined,
  breaker: ListenerBreaker | undefined,
): Pick<z.input<typeof Connection>, 'state' | 'retryCount'> {
  const state = status === 'active' ? 'running' : status === 'error' ? status : 'stopped';
  const own = connection ?? { state, retryCount: 0 };
  if (own.state !== 'running' || !breaker) return { state: own.state, retryCount: own.retryCount };
  return { state: 'reconnecting', retryCount: breaker.opens + 1 };
}

interface StatusRoute {
  name: string;
  verb: string;
  status: ListenerStatus;
  summary: string;
  description: string;
}

function setStatus({ verb, status, ...words }: StatusRoute): ApiRoute {
  return tenantRoute({
    ...words,
    method: 'post',
    path: `/listeners/:listenerID/${verb}`,
    permission: 'listener.update',
    object: ({ params }) => `listener:${params.listenerID}`,
    params: ListenerID,
    response: Changed,
    // Repeating it changes nothing more.
    idempotent: false,

    async handle({ params, em, tenantID }) {
      return em.transactional(async (tx) => {
        const listener = await getListener(tx, params.listenerID, { lock: true });
        const { listenerType: type, status: before } = listener;
        await requireConnection(tx, { tenantID, type, before, after: status });
        tx.assign(listener, { status, lastError: null });
        await tx.flush();
        const around = await findAround(tx, [listener]);
        return { listener: presentListener(listener, around(listener)), message: `Listener ${verb}d` };
      });
    },
  });
}
