import type { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { listenerGroups } from '#shared/core/schema/form-groups.ts';
import { actions } from '#shared/triggers/listeners/actions.ts';
import type { ListenerDefinition } from '#shared/triggers/listeners/types/define-listener.ts';
import { findListenerType, listeners } from '#shared/triggers/listeners/types/index.ts';
import { tenantRoute } from '../../context/routes.ts';
import { formOf } from '../../http/forms/form.ts';
import { ListenerSchemas, SchemasQuery } from './schemas.ts';

export const describeListeners = tenantRoute({
  name: 'getListenerSchemas',
  method: 'get',
  path: '/listeners/schemas',
  summary: 'Get the types of listeners',
  description:
    'Returns, for each type of datasource that can be listened to, a JSON Schema and a form of `listenerConfig`; and those of the kinds of actions.',
  permission: 'listener.list',
  filter: true,
  query: SchemasQuery,
  response: ListenerSchemas,

  async handle({ query: { datasourceType } }) {
    const wanted: readonly ListenerDefinition[] = datasourceType === undefined ? listeners : [getType(datasourceType)];
    return {
      schemas: Object.fromEntries(wanted.map((definition) => [definition.type, describe(definition)])),
      actions: Object.fromEntries(
        actions.map(({ type, label, config }) => [type, { actionType: type, label, ...formOf(config), data: {} }]),
      ),
      message: 'Listener schemas',
    };
  },
});

function getType(type: string): ListenerDefinition {
  const definition = findListenerType(type);
  if (!definition) throw new AppError('SCHEMA_NOT_FOUND', `There is no listener type "${type}"`);
  return definition;
}

type Description = z.input<typeof ListenerSchemas>['schemas'][string];

function describe({ type, label, config, defaults }: ListenerDefinition): Description {
  return {
    datasourceType: type,
    label,
    ...formOf(config, { groups: listenerGroups }),
    data: defaults as Description['data'],
  };
}
