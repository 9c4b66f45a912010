import { LockMode } from '@mikro-orm/postgresql';
import { AppError } from '#shared/core/errors.ts';
import { onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Datasource } from '#shared/entities/tables/datasource.ts';
import { Listener } from '#shared/entities/tables/listener.ts';
import { ListenerAction } from '#shared/entities/tables/listener-action.ts';
import { ListenerBreaker } from '#shared/entities/tables/listener-breaker.ts';
import { type Measured, requireFits, storedSize } from '../../http/fields/page-size.ts';
import type { Around } from './present.ts';

/** The listener of the path; `lock` keeps it as it is until the transaction ends. */
export async function getListener(
  em: EntityManager,
  id: string,
  { lock = false }: { lock?: boolean } = {},
): Promise<Listener> {
  const options = lock ? { lockMode: LockMode.PESSIMISTIC_WRITE as const } : {};
  const listener = await em.findOne(Listener, { id }, options);
  if (!listener) throw new AppError('NOT_FOUND', 'Listener not found');
  return listener;
}

/** Requires that the actions that a page of listeners has together fit into an answer. */
export async function requireActionsFit(em: EntityManager, listeners: readonly Listener[]): Promise<void> {
  if (listeners.length < 2) return;
  const columns = ['action_config'];
  const query = onEntities(em);
  const { rows } = await query<Measured>(
    `select id, ${storedSize(columns)} as stored from listener_action where listener_id = any($1::uuid[])`,
    [`{${listeners.map(({ id }) => id).join(',')}}`],
  );
  await requireFits(query, { table: 'listener_action', columns, rows });
}

/** The actions of listeners in their order, their datasources and circuit breakers: three statements for any number of listeners. */
export async function findAround(
  em: EntityManager,
  listeners: readonly Listener[],
): Promise<(listener: Listener) => Around> {
  const listenerIDs = listeners.map(({ id }) => id);
  const datasourceIDs = [...new Set(listeners.map(({ datasourceID }) => datasourceID))];
  const orderBy = [{ orderIndex: 'asc' as const }, { createdAt: 'asc' as const }, { id: 'asc' as const }];
  const actions = await em.find(ListenerAction, { listenerID: { $in: listenerIDs } }, { orderBy });
  const fields = ['id', 'datasourceTitle', 'datasourceType'] as const;
  const datasources = await em.find(Datasource, { id: { $in: datasourceIDs } }, { fields });
  const breakers = await findBreakers(em, listenerIDs);
  const byListener = Map.groupBy(actions, ({ listenerID }) => listenerID);
  const byID = new Map(datasources.map((datasource) => [datasource.id, datasource]));
  return ({ id, datasourceID }) => ({
    actions: byListener.get(id) ?? [],
    datasource: byID.get(datasourceID),
    breaker: breakers.get(id),
  });
}

/** The circuit breakers that are open, by the ids of their listeners. */
export async function findBreakers(
  em: EntityManager,
  listenerIDs: readonly string[],
): Promise<ReadonlyMap<string, ListenerBreaker>> {
  const where = { listenerID: { $in: [...listenerIDs] }, openedAt: { $ne: null } };
  const breakers = await em.find(ListenerBreaker, where);
  return new Map(breakers.map((breaker) => [breaker.listenerID, breaker]));
}
