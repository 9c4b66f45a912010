import { newID } from '#shared/core/ids.ts';
import { Listener as ListenerEntity } from '#shared/entities/tables/listener.ts';
import { ListenerAction } from '#shared/entities/tables/listener-action.ts';
import { createAsset } from '../../assets/assets.ts';
import { tenantRoute } from '../../context/routes.ts';
import {
  checkEndpoint,
  checkTransform,
  datasourceAccess,
  findListened,
  readAction,
  readConfig,
  requireConnection,
  targetAccess,
} from './check.ts';
import { presentListener } from './present.ts';
import { Changed, ListenerCreate, listenerAliases } from './schemas.ts';

export const createListener = tenantRoute({
  name: 'createListener',
  method: 'post',
  path: '/listeners',
  summary: 'Create a listener',
  description:
    'Stores a listener of a datasource, with its actions. It receives nothing until it is active. What it starts has the permissions of its creator.',
  status: 201,
  access: ({ body }) => [
    { permission: 'listener.create', object: 'listener:*' },
    datasourceAccess(body.datasourceID),
    ...targetAccess(body.actions),
  ],
  body: ListenerCreate,
  aliases: listenerAliases,
  response: Changed,
  errors: ['409'],
  idempotent: 'transaction',

  async handle({ body, caller, em, tenantID, newAssetID, reportUnknown }) {
    const { listenerTitle, listenerDescription, folderID, status = 'inactive', transformScript } = body;
    const datasource = await findListened(em, body.datasourceID, body.listenerType);
    const { config: listenerConfig, unknown } = readConfig(datasource.datasourceType, body.listenerConfig ?? {});
    reportUnknown(unknown);
    checkTransform(transformScript);
    const allActions = transformScript
      ? [{ actionType: 'transform', actionConfig: { script: transformScript } }, ...body.actions]
      : body.actions;
    const checkedActions = [];
    for (const [index, action] of allActions.entries()) {
      const { config, unknown: fields } = await readAction(em, action, ['actions', index]);
      reportUnknown(fields);
      checkedActions.push({ ...action, actionConfig: config });
    }
    const id = newAssetID();
    const { datasourceType: listenerType, id: datasourceID } = datasource;
    const endpointPath = body.endpointPath ?? null;
    const endpointShape = await checkEndpoint(em, { tenantID, path: endpointPath, datasourceID, listenerID: id });
    await requireConnection(em, { tenantID, type: listenerType, before: 'inactive', after: status });
    const own = {
      id,
      listenerTitle,
      listenerDescription,
      listenerType,
      datasourceID,
      listenerConfig,
      status,
      folderID,
    };
    const listener = await createAsset(em, caller, 'listener', ListenerEntity, { ...own, endpointPath, endpointShape });
    const actions = checkedActions.map((action, index) =>
      em.create(ListenerAction, { orderIndex: index, ...action, id: newID(), tenantID, listenerID: id }),
    );
    await em.flush();
    return {
      listener: presentListener(listener, { actions: inOrder(actions), datasource }),
      message: 'Listener created',
    };
  },
});

function inOrder(actions: ListenerAction[]): ListenerAction[] {
  return actions.sort((one, other) => one.orderIndex - other.orderIndex);
}
