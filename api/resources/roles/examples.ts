import { exampleCreator, exampleIDs, exampleTimes } from '../../http/fields/example-ids.ts';

const { tenantID, roleID, workflowID } = exampleIDs;

const settings = {
  roleName: 'Clerk',
  roleDescription: 'Runs the workflows of the shop',
  rolePermissions: ['workflow.list', 'workflow.read'],
  assetPermissions: [{ resourceType: 'workflow', resourceID: workflowID, action: 'execute' }],
};

export const exampleRoleCreate = settings;
export const exampleRoleUpdate = { rolePermissions: ['workflow.*'] };

export const exampleRole = {
  id: roleID,
  roleID,
  tenantID,
  ...settings,
  isGlobal: false,
  folderID: null,
  homePageID: null,
  ...exampleCreator,
  ...exampleTimes,
};

export const exampleRepairedRole = { roleID, roleName: 'Clerk', added: 2, removed: 0 };
