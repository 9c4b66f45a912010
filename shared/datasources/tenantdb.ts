import { z } from 'zod';
import { defineDatasource } from './define-datasource.ts';
import { postgresql } from './postgresql.ts';

/** The database that is the tenant's own: the one it has brought, else the one it is given. There is nothing to say of it. */
export const tenantdb = defineDatasource({
  type: 'tenantdb',
  label: 'Tenant database',
  category: 'database',
  options: z.object({}),
  query: postgresql.query,
  templates: postgresql.templates,
  standsAlone: { permission: 'database.execute' },
  defaults: { options: {}, query: postgresql.defaults.query },
});
