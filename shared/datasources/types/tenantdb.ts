import { z } from 'zod';
import { defineDatasource } from './define-datasource.ts';
import { postgresql } from './postgresql.ts';

/** The tenant's own database: the one it has configured, else the one created for it. It has no options. */
export const tenantdb = defineDatasource({
  type: 'tenantdb',
  label: 'Tenant database',
  category: 'database',
  options: z.object({}),
  query: postgresql.query,
  templates: postgresql.templates,
  writes: postgresql.writes,
  receipts: true,
  standsAlone: { permission: 'database.execute' },
  defaults: { options: {}, query: postgresql.defaults.query },
});
