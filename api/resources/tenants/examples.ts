import { exampleIDs, exampleTimes } from '../../http/fields/example-ids.ts';

const { tenantID, userID, roleID } = exampleIDs;

export const exampleTenantCreate = {
  tenantTitle: 'Northwind',
  tenantDescription: 'The shop and its orders',
  tenantDBURL: 'postgresql://owner:correct-horse@db.example.com:5432/northwind',
};

export const exampleTenantUpdate = { tenantTitle: 'Northwind Traders', tenantDescription: null };

export const exampleTenant = {
  id: tenantID,
  tenantID,
  tenantTitle: 'Northwind',
  tenantDescription: 'The shop and its orders',
  tenantLogoURL: null,
  tenantDBURL: '********',
  pausedAt: null,
  creatorID: userID,
  ...exampleTimes,
};

export const exampleOwnTenant = { ...exampleTenant, role: 'ADMIN', roles: [{ roleID, roleName: 'Clerk' }] };

export const exampleCountedTenant = {
  ...exampleOwnTenant,
  relationships: [{ tenantID, userID, role: 'ADMIN' }],
  tenantUserCount: 3,
  tenantRolesCount: 2,
  tenantAPIKeyCount: 1,
  tenantWorkflowCount: 12,
  tenantDatasourceCount: 4,
  tenantDataQueryCount: 19,
  tenantWidgetCount: 7,
};
