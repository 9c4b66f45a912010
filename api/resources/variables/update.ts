import { z } from 'zod';
import { invalidField } from '#shared/core/schema/issues.ts';
import { MASK } from '#shared/core/schema/secret.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import { tenantRoute } from '../../context/routes.ts';
import { getVariable } from './find.ts';
import { presentVariable } from './present.ts';
import { faultOfSecret, Variable, VariableID, VariableUpdate } from './schemas.ts';
import { tellWorkers } from './tell-workers.ts';

export const updateVariable = tenantRoute({
  name: 'updateVariable',
  method: 'patch',
  path: '/variables/:variableID',
  summary: 'Update a variable',
  description:
    'Changes the value or the description. Nodes that begin later read the new value. The name stays, and a secret stays one.',
  permission: 'variable.update',
  object: ({ params }) => `variable:${params.variableID}`,
  params: VariableID,
  body: VariableUpdate,
  hides: ['value'],
  response: z.object({ variable: Variable }),

  async handle({ params, body, em, tenantID, log }, { secrets, messaging: { backplane } }) {
    const variable = await getVariable(em, params.variableID);
    const { value, description } = body;
    if (description !== undefined) variable.description = description;
    const isSecret = typeof variable.secret === 'string';
    if (value !== undefined && !isSecret) variable.value = { is: value };
    if (value !== undefined && isSecret && value !== MASK) {
      const fault = faultOfSecret(value);
      if (fault) throw invalidField('value', fault);
      variable.secret = secrets.seal(String(value), sealedColumns.variableSecret.context(variable.id));
    }
    await em.flush();
    tellWorkers(backplane, log, tenantID);
    return { variable: presentVariable(variable, secrets) };
  },
});
