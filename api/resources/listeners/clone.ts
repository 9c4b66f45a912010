import { newID } from '#shared/core/ids.ts';
import { Listener as ListenerEntity } from '#shared/entities/tables/listener.ts';
import { ListenerAction } from '#shared/entities/tables/listener-action.ts';
import { createAsset } from '../../assets/assets.ts';
import { titleOfCopy } from '../../assets/copy-title.ts';
import { folderOfCopy } from '../../assets/folders.ts';
import { tenantRoute } from '../../context/routes.ts';
import { datasourceAccess, targetAccess } from './check.ts';
import { findAround, getListener } from './find.ts';
import { presentListener } from './present.ts';
import { Changed, ListenerID } from './schemas.ts';

export const cloneListener = tenantRoute({
  name: 'cloneListener',
  method: 'post',
  path: '/listeners/:listenerID/clone',
  summary: 'Clone a listener',
  description: 'Copies a listener with its actions. The copy is inactive and has no endpoint path.',
  access: ({ params }) => [
    { permission: 'listener.read', object: `listener:${params.listenerID}` },
    { permission: 'listener.create', object: 'listener:*' },
  ],
  params: ListenerID,
  response: Changed,
  idempotent: 'transaction',

  async handle({ params, caller, em, tenantID, require }) {
    const original = await getListener(em, params.listenerID);
    const { actions: own, datasource } = (await findAround(em, [original]))(original);
    const { listenerDescription, listenerType, listenerConfig, datasourceID } = original;
    const folderID = await folderOfCopy(em, 'listener', original);
    await require([datasourceAccess(datasourceID), ...targetAccess(own)]);
    const id = newID();
    const listenerTitle = titleOfCopy(original.listenerTitle);
    const copied = { listenerTitle, listenerDescription, listenerType, listenerConfig, datasourceID, folderID };
    const listener = await createAsset(em, caller, 'listener', ListenerEntity, { id, ...copied, status: 'inactive' });
    const actions = own.map(({ actionType, actionConfig, isEnabled }, orderIndex) => {
      const action = { actionType, actionConfig, isEnabled, orderIndex };
      return em.create(ListenerAction, { ...action, id: newID(), tenantID, listenerID: id });
    });
    await em.flush();
    return { listener: presentListener(listener, { actions, datasource }), message: 'Listener copied' };
  },
});
