import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { ListenerAction } from '#shared/entities/tables/listener-action.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { readAction, targetAccess } from './check.ts';
import { getListener } from './find.ts';
import { presentAction } from './present.ts';
import { ActionCreate, ActionID, ActionUpdate, ChangedAction, ListenerID } from './schemas.ts';

const MAX_ACTIONS = 50;

const addAction = tenantRoute({
  name: 'createListenerAction',
  method: 'post',
  path: '/listeners/:listenerID/actions',
  summary: 'Add an action to a listener',
  description: 'Adds a step of what the listener does with an event. Without `orderIndex` it comes after the others.',
  status: 201,
  access: ({ params, body }) => [
    { permission: 'listener.update', object: `listener:${params.listenerID}` },
    ...targetAccess([body]),
  ],
  params: ListenerID,
  body: ActionCreate,
  response: ChangedAction,
  errors: ['409'],
  idempotent: 'transaction',

  async handle({ params, body, em, tenantID, reportUnknown }) {
    // Locked, so that two actions that are added at once do not get the same `orderIndex`.
    const { id: listenerID } = await getListener(em, params.listenerID, { lock: em.isInTransaction() });
    const others = await em.find(ListenerAction, { listenerID }, { fields: ['orderIndex'] });
    if (others.length >= MAX_ACTIONS)
      throw new AppError('CONFLICT', `A listener has at most ${MAX_ACTIONS} actions: delete one`);
    const { config: actionConfig, unknown } = await readAction(em, body);
    reportUnknown(unknown);
    const last = Math.max(-1, ...others.map(({ orderIndex }) => orderIndex));
    const { actionType, isEnabled = true, orderIndex = last + 1 } = body;
    const own = { id: newID(), tenantID, listenerID, actionType, actionConfig, isEnabled, orderIndex };
    const action = em.create(ListenerAction, own);
    await em.flush();
    return { action: presentAction(action), message: 'Action added' };
  },
});

const updateAction = tenantRoute({
  name: 'updateListenerAction',
  method: 'put',
  path: '/listeners/:listenerID/actions/:actionID',
  summary: 'Update an action of a listener',
  description: 'Fields that are left out stay as they are; the config is given as a whole.',
  permission: 'listener.update',
  object: ({ params }) => `listener:${params.listenerID}`,
  params: ActionID,
  body: ActionUpdate,
  response: ChangedAction,

  async handle({ params, body, em, require, reportUnknown }) {
    return em.transactional(async (tx) => {
      await getListener(tx, params.listenerID, { lock: true });
      const action = await getAction(tx, params);
      const { actionType = action.actionType, isEnabled, orderIndex } = body;
      const next = { actionType, actionConfig: body.actionConfig ?? action.actionConfig };
      await require(targetAccess([next]));
      const { config: actionConfig, unknown } = await readAction(tx, next);
      if (body.actionConfig) reportUnknown(unknown);
      tx.assign(action, { actionType, actionConfig, isEnabled, orderIndex }, { ignoreUndefined: true });
      await tx.flush();
      return { action: presentAction(action), message: 'Action updated' };
    });
  },
});

const deleteAction = tenantRoute({
  name: 'deleteListenerAction',
  method: 'delete',
  path: '/listeners/:listenerID/actions/:actionID',
  summary: 'Delete an action of a listener',
  description: 'Deletes an action. Events that are processed later do without it.',
  permission: 'listener.update',
  object: ({ params }) => `listener:${params.listenerID}`,
  params: ActionID,
  response: z.object({ message: Message }),

  async handle({ params, em }) {
    await getListener(em, params.listenerID);
    const action = await getAction(em, params);
    em.remove(action);
    await em.flush();
    return { message: 'Action deleted' };
  },
});

export const actionRoutes = [addAction, updateAction, deleteAction];

async function getAction(
  em: EntityManager,
  { listenerID, actionID }: z.output<typeof ActionID>,
): Promise<ListenerAction> {
  const action = await em.findOne(ListenerAction, { id: actionID, listenerID });
  if (!action) throw new AppError('NOT_FOUND', 'Action not found');
  return action;
}
