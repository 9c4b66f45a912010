import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { deleteAsset } from '../../assets/assets.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { getVariable } from './find.ts';
import { VariableDelete, VariableID } from './schemas.ts';
import { tellWorkers } from './tell-workers.ts';
import { findUses } from './uses.ts';

export const deleteVariable = tenantRoute({
  name: 'deleteVariable',
  method: 'delete',
  path: '/variables/:variableID',
  summary: 'Delete a variable',
  description: 'Deletes a variable. While published workflows use it, the answer is 409, unless `force` is true.',
  permission: 'variable.delete',
  object: ({ params }) => `variable:${params.variableID}`,
  params: VariableID,
  query: VariableDelete,
  response: z.object({ message: Message }),
  errors: ['409'],

  async handle({ params, query, em, tenantID, log }, { pool, messaging: { backplane } }) {
    const variable = await getVariable(em, params.variableID);
    const found = query.force ? [] : await findUses(pool, tenantID, variable.name);
    const uses = found.filter(({ isPublished }) => isPublished).length;
    if (uses > 0)
      throw new AppError(
        'CONFLICT',
        `${uses} published ${uses === 1 ? 'workflow uses' : 'workflows use'} this variable: change them, or delete it with ?force=true`,
      );
    await deleteAsset(em, 'variable', variable);
    tellWorkers(backplane, log, tenantID);
    return { message: 'Variable deleted' };
  },
});
