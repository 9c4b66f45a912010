import { z } from 'zod';

/** An id in lower case, as in policy and rows: the same id in capitals must not be another object. */
export const ID = z.uuid().toLowerCase();

/** The parameter of every route of a tenant. */
export const TenantID = z.object({ tenantID: ID });
