import { Migration20261121000000_Foundation } from './Migration20261121000000_Foundation.ts';
import { Migration20261121120000_ApiKeys } from './Migration20261121120000_ApiKeys.ts';
import { Migration20261121130000_Operators } from './Migration20261121130000_Operators.ts';
import { Migration20261121140000_Roles } from './Migration20261121140000_Roles.ts';
import { Migration20261121150000_TenantSecrets } from './Migration20261121150000_TenantSecrets.ts';
import { Migration20261121155000_People } from './Migration20261121155000_People.ts';
import { Migration20261121160000_TenantDatabases } from './Migration20261121160000_TenantDatabases.ts';
import { Migration20261121170000_Datasources } from './Migration20261121170000_Datasources.ts';
import { Migration20261121180000_TenantFiles } from './Migration20261121180000_TenantFiles.ts';
import { Migration20261121190000_ResultPages } from './Migration20261121190000_ResultPages.ts';

/** In order; only ever appended to. */
export const migrations = [
  { name: 'Migration20261121000000_Foundation', class: Migration20261121000000_Foundation },
  { name: 'Migration20261121120000_ApiKeys', class: Migration20261121120000_ApiKeys },
  { name: 'Migration20261121130000_Operators', class: Migration20261121130000_Operators },
  { name: 'Migration20261121140000_Roles', class: Migration20261121140000_Roles },
  { name: 'Migration20261121150000_TenantSecrets', class: Migration20261121150000_TenantSecrets },
  { name: 'Migration20261121155000_People', class: Migration20261121155000_People },
  { name: 'Migration20261121160000_TenantDatabases', class: Migration20261121160000_TenantDatabases },
  { name: 'Migration20261121170000_Datasources', class: Migration20261121170000_Datasources },
  { name: 'Migration20261121180000_TenantFiles', class: Migration20261121180000_TenantFiles },
  { name: 'Migration20261121190000_ResultPages', class: Migration20261121190000_ResultPages },
] as const;

/** The schema this code needs: a process refuses to start on an older one. */
export const requiredMigration = migrations[migrations.length - 1]?.name ?? '';
