import { UniqueConstraintViolationException } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { invalidField } from '#shared/core/schema/issues.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import { TenantVariable } from '#shared/entities/tables/tenant-variable.ts';
import { createAsset } from '../../assets/assets.ts';
import { tenantRoute } from '../../context/routes.ts';
import { presentVariable } from './present.ts';
import { Variable, VariableCreate } from './schemas.ts';

export const createVariable = tenantRoute({
  name: 'createVariable',
  method: 'post',
  path: '/variables',
  summary: 'Create a variable',
  description:
    'Stores a value that workflows read as `vars.<name>`. A secret is stored encrypted, never shown again, and can be used in the fields of HTTP nodes only.',
  status: 201,
  permission: 'variable.create',
  body: VariableCreate,
  hides: ['value'],
  response: z.object({ variable: Variable }),
  errors: ['409'],
  idempotent: 'transaction',

  async handle({ body, caller, em, newAssetID }, { secrets }) {
    const { name, value, isSecret, description } = body;
    const id = newAssetID();
    const stored = isSecret
      ? { secret: secrets.seal(String(value), sealedColumns.variableSecret.context(id)) }
      : { value: { is: value } };
    const own = { id, name, description, ...stored };
    // Workers need not be told: a node that names a variable which they do not know reads the variables again.
    const variable = await createAsset(em, caller, 'variable', TenantVariable, own).catch(refuseTakenName);
    return { variable: presentVariable(variable, secrets) };
  },
});

/** The index decides, and not a read before: another request may take the name in between. */
function refuseTakenName(error: unknown): never {
  if (!(error instanceof UniqueConstraintViolationException)) throw error;
  throw invalidField('name', 'another variable of this tenant has this name', { code: 'CONFLICT', cause: error });
}
