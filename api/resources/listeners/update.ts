import type { z } from 'zod';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import type { Listener } from '#shared/entities/tables/listener.ts';
import { ListenerAction } from '#shared/entities/tables/listener-action.ts';
import { requireFolder } from '../../assets/folders.ts';
import { type ApiRoute, tenantRoute } from '../../context/routes.ts';
import {
  checkEndpoint,
  checkTransform,
  datasourceAccess,
  findListened,
  readAction,
  readConfig,
  requireConnection,
} from './check.ts';
import { findAround, getListener } from './find.ts';
import { presentListener } from './present.ts';
import { Changed, ListenerID, ListenerUpdate, listenerAliases } from './schemas.ts';

export const updateListener = updateBy({
  name: 'updateListener',
  method: 'patch',
  summary: 'Update a listener',
  description:
    'Fields that are left out stay as they are; the config is given as a whole. A change counts from the next delivery on.',
});
export const putListener = updateBy({
  name: 'putListener',
  method: 'put',
  summary: 'Update a listener by PUT',
  description: 'Does the same as PATCH: fields that are left out stay as they are.',
});

interface Words {
  name: string;
  method: 'patch' | 'put';
  summary: string;
  description: string;
}

function updateBy(words: Words): ApiRoute {
  return tenantRoute({
    ...words,
    path: '/listeners/:listenerID',
    access: ({ params, body }) => [
      { permission: 'listener.update', object: `listener:${params.listenerID}` },
      ...(body.datasourceID ? [datasourceAccess(body.datasourceID)] : []),
    ],
    params: ListenerID,
    body: ListenerUpdate,
    aliases: listenerAliases,
    response: Changed,
    errors: ['409'],

    async handle({ params, body, em, tenantID, reportUnknown }) {
      return em.transactional(async (tx) => {
        const listener = await getListener(tx, params.listenerID, { lock: true });
        const { listenerTitle, listenerDescription, folderID, datasourceID, transformScript } = body;
        if (datasourceID) await findListened(tx, datasourceID, listener.listenerType);
        const changes: Partial<Listener> = { ...statusOf(body) };
        const { listenerType: type, status: before } = listener;
        await requireConnection(tx, { tenantID, type, before, after: body.status ?? before });
        if (body.listenerConfig) {
          const { config, unknown } = readConfig(listener.listenerType, body.listenerConfig);
          reportUnknown(unknown);
          changes.listenerConfig = config;
        }
        Object.assign(changes, await endpointOf(tx, listener, body));
        if (transformScript !== undefined) await setTransform(tx, listener, transformScript);
        await requireFolder(tx, 'listener', folderID);
        const given = { listenerTitle, listenerDescription, folderID, datasourceID };
        tx.assign(listener, { ...given, ...changes }, { ignoreUndefined: true });
        await tx.flush();
        const around = await findAround(tx, [listener]);
        return { listener: presentListener(listener, around(listener)), message: 'Listener updated' };
      });
    },
  });
}

/** The path, if it or the methods change. */
async function endpointOf(
  em: EntityManager,
  { id: listenerID, tenantID, ...before }: Listener,
  { endpointPath, datasourceID }: z.output<typeof ListenerUpdate>,
): Promise<Partial<Listener>> {
  if (endpointPath === undefined && datasourceID === undefined) return {};
  const path = (endpointPath === undefined ? before.endpointPath : endpointPath) ?? null;
  const of = { tenantID, listenerID, datasourceID: datasourceID ?? before.datasourceID };
  return { endpointPath: path, endpointShape: await checkEndpoint(em, { ...of, path }) };
}

/** Setting a status also clears what is said of the last error. */
function statusOf({ status }: z.output<typeof ListenerUpdate>): Partial<Listener> {
  return status === undefined ? {} : { status, lastError: null };
}

/** Changes the first `transform` action, which is made before the others if there is none; null or an empty text removes it. */
async function setTransform(em: EntityManager, { id, tenantID }: Listener, script: string | null): Promise<void> {
  const orderBy = [{ orderIndex: 'asc' as const }, { createdAt: 'asc' as const }, { id: 'asc' as const }];
  const first = await em.findOne(ListenerAction, { listenerID: id, actionType: 'transform' }, { orderBy });
  if (!script) {
    if (first) em.remove(first);
    return;
  }
  checkTransform(script);
  const actionConfig: JsonObject = { script };
  await readAction(em, { actionType: 'transform', actionConfig });
  if (first) em.assign(first, { actionConfig });
  else em.create(ListenerAction, { id: newID(), tenantID, listenerID: id, actionType: 'transform', actionConfig });
}
