import { z } from 'zod';
import { idOf } from '#shared/core/schema/reference.ts';

/** An id in lower case, as in policy and rows: the same id in capitals must not be another object. */
export const ID = z.uuid().toLowerCase();

/** The parameter of every route of a tenant. */
export const TenantID = z.object({ tenantID: idOf('tenant') });
